import { specification } from "./specification.ts";

const { done } = specification("000");

done({ isComplete: false });
