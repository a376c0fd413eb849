import { specification } from "./specification.ts";

const { done } = specification("003");

done({ isComplete: false });
