import {
  acceptedContent,
  createRequestStateCodec,
  type InputRequests,
  type InputResponses,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
  type Tool,
} from "@modelcontextprotocol/server";
import { text } from "./_everything-content.ts";
import { enums, primitives } from "./_everything-forms.ts";
import { type FixtureTool, type Surroundings, tool } from "./_everything-tools.ts";

/** The state that a tool keeps with the client between two rounds. */
export interface Kept {
  readonly round: number;
}

/** Signs what is kept, so that a client cannot change it. */
export const stateCodec: RequestStateCodec<Kept> = createRequestStateCodec<Kept>({
  key: "a key that only this fixture has to know",
});

type Form = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];
type Request = InputRequests[string];

const field = (name: string, type: "string" | "boolean" = "string"): Form =>
  ({ type: "object", properties: { [name]: { type } }, required: [name] }) as Form;

/** A question to a person. */
export function ask(message: string, requestedSchema: Form): Request {
  return inputRequired.elicit({ message, requestedSchema });
}

const sample = (question: string): Request =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens: 100,
  });

const oneText = (name: string): Tool["inputSchema"] => ({
  type: "object",
  properties: { [name]: { type: "string" } },
  required: [name],
});

type Answers = InputResponses | Record<string, unknown> | undefined;

/** Returns the answer to a question as a string; nothing if it was declined. */
function readAnswer(key: string, { context }: Surroundings): string | undefined {
  const view = inputResponse(context.mcpReq.inputResponses as Answers, key);
  if (view.kind === "missing") return undefined;
  if (view.kind === "roots") return JSON.stringify(view.roots);
  return view.kind === "sampling"
    ? JSON.stringify(view.result.content)
    : `action=${view.action}, content=${JSON.stringify(view.content ?? {})}`;
}

/** A tool that asks one thing and answers with what it was told. */
function asking(
  name: string,
  key: string,
  question: (surroundings: Surroundings) => Request,
  inputSchema?: Tool["inputSchema"],
): FixtureTool {
  const description = `Asks for "${key}" and says what it was told.`;
  const run: FixtureTool["run"] = async (surroundings) => {
    const answer = readAnswer(key, surroundings);
    if (answer === undefined) return inputRequired({ inputRequests: { [key]: question(surroundings) } });
    return text(`It was told: ${answer}`);
  };
  return tool(name, description, run, inputSchema);
}

/** A tool that keeps something with the client, and wants it back with the answers to all of its questions. */
function keeping(name: string, questions: Readonly<Record<string, Request>>): FixtureTool {
  return tool(name, "Asks, and keeps its state with the client.", async (surroundings) => {
    const kept = surroundings.context.mcpReq.requestState<Kept>();
    const isComplete = Object.keys(questions).every((key) => readAnswer(key, surroundings) !== undefined);
    if (kept && isComplete) return text("state-ok");
    return inputRequired({ inputRequests: questions, requestState: await stateCodec.mint({ round: 1 }) });
  });
}

const named = ask("What is your name?", field("name"));
const confirmed = ask("Please confirm", field("ok", "boolean"));

/** The tools that need to ask the client for something. */
export const askingTools: readonly FixtureTool[] = [
  asking("test_sampling", "sample", ({ args }) => sample(String(args["prompt"])), oneText("prompt")),
  asking(
    "test_elicitation",
    "user",
    ({ args }) =>
      ask(String(args["message"]), {
        type: "object",
        properties: { username: { type: "string" }, email: { type: "string" } },
        required: ["username", "email"],
      }),
    oneText("message"),
  ),
  asking("test_elicitation_sep1034_defaults", "form", () => ask("Please fill in the form", primitives)),
  asking("test_elicitation_sep1330_enums", "form", () => ask("Please choose", enums)),
  asking("test_streaming_elicitation", "user_name", () => named),
  asking("test_missing_capability", "sample", () => sample("What is needed?")),
  tool("test_input_required_result_elicitation", "Asks for a name.", async ({ context }) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, "user_name");
    if (typeof answer?.["name"] !== "string") return inputRequired({ inputRequests: { user_name: named } });
    return text(`Hello, ${answer["name"]}!`);
  }),
  asking("test_input_required_result_sampling", "capital_question", () =>
    sample("What is the capital of France?"),
  ),
  asking("test_input_required_result_list_roots", "client_roots", () => inputRequired.listRoots()),
  keeping("test_input_required_result_request_state", { confirm: confirmed }),
  keeping("test_input_required_result_tampered_state", { confirm: confirmed }),
  keeping("test_input_required_result_multiple_inputs", {
    user_name: named,
    greeting: sample("Generate a greeting"),
    client_roots: inputRequired.listRoots(),
  }),
  tool("test_input_required_result_multi_round", "Asks twice.", async (surroundings) => {
    const { round = 0 } = surroundings.context.mcpReq.requestState<Kept>() ?? {};
    if (round === 2 && readAnswer("step2", surroundings)) return text("It was told both.");
    const next = round >= 1 && readAnswer("step1", surroundings) ? 2 : 1;
    const inputRequests: InputRequests =
      next === 2
        ? { step2: ask("Step 2: What is your favorite color?", field("color")) }
        : { step1: ask("Step 1: What is your name?", field("name")) };
    return inputRequired({ inputRequests, requestState: await stateCodec.mint({ round: next }) });
  }),
  tool("test_input_required_result_capabilities", "Asks only what can be asked.", async (surroundings) => {
    const { capabilities } = surroundings;
    const askable: [string, Request][] = [
      ...(capabilities["elicitation"] ? [["user_name", named] satisfies [string, Request]] : []),
      ...(capabilities["sampling"]
        ? [["greeting", sample("Generate a greeting")] satisfies [string, Request]]
        : []),
    ];
    // One at a time: it must not depend on chance which of them is refused first.
    const next = askable.find(([key]) => readAnswer(key, surroundings) === undefined);
    if (!next) return text("Nothing left to ask.");
    return inputRequired({ inputRequests: Object.fromEntries([next]) });
  }),
];
