import { specification } from "./specification.ts";

const { done } = specification("001");

done({ isComplete: false });
