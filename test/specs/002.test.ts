import { specification } from "./specification.ts";

const { done } = specification("002");

done({ isComplete: false });
