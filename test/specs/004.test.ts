import { specification } from "./specification.ts";

const { done } = specification("004");

done({ isComplete: false });
