import {
  acceptedContent,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  type Prompt,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { png } from "./_everything-content.ts";
import { ask } from "./_everything-questions.ts";

/** A prompt of the fixture. */
export interface FixturePrompt {
  readonly definition: Prompt;
  get(args: Readonly<Record<string, string>>, context: ServerContext): GetPromptResult | InputRequiredResult;
}

type Content = GetPromptResult["messages"][number]["content"];

const said = (...contents: Content[]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: "user" as const, content })),
});
const words = (text: string): Content => ({ type: "text", text });
const argument = (name: string): { name: string; required: boolean } => ({ name, required: true });

/** The prompts of the fixture. */
export const prompts: readonly FixturePrompt[] = [
  {
    definition: { name: "test_simple_prompt", description: "Says one thing." },
    get: () => said(words("This is a simple prompt for testing.")),
  },
  {
    definition: {
      name: "test_prompt_with_arguments",
      description: "Says what it is given.",
      arguments: [argument("arg1"), argument("arg2")],
    },
    get: ({ arg1, arg2 }) => said(words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    definition: {
      name: "test_prompt_with_embedded_resource",
      description: "Brings a resource.",
      arguments: [argument("resourceUri")],
    },
    get: ({ resourceUri = "" }) =>
      said(
        {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "The text of the resource." },
        },
        words("Please process the embedded resource above."),
      ),
  },
  {
    definition: { name: "test_prompt_with_image", description: "Brings a picture." },
    get: () =>
      said({ type: "image", data: png, mimeType: "image/png" }, words("Please analyze the image above.")),
  },
  {
    definition: { name: "test_input_required_result_prompt", description: "Asks for a context." },
    get(_, context) {
      const answer = acceptedContent(context.mcpReq.inputResponses, "user_context");
      if (answer) return said(words(`The context is ${JSON.stringify(answer)}.`));
      const question = ask("What context should the prompt use?", {
        type: "object",
        properties: { context: { type: "string" } },
        required: ["context"],
      });
      return inputRequired({ inputRequests: { user_context: question } });
    },
  },
];

/** The prompt that comes and goes. */
export const addedPrompt: FixturePrompt = {
  definition: { name: "test_added_prompt", description: "Was added while the server ran." },
  get: () => said(words("Added.")),
};
