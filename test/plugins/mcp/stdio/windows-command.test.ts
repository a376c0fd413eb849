import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveWindowsCommand } from "../../../../plugins/mcp/stdio/windows-command.ts";

const env = {
  Path: 'C:\\tools;"C:\\Program Files\\nodejs"',
  PATHEXT: ".COM;.EXE;.BAT;.CMD",
  ComSpec: "C:\\cmd.exe",
};
const files = new Set(["C:\\Program Files\\nodejs\\npx.CMD", "C:\\tools\\uvx.EXE", "C:\\own\\run.bat"]);
const find = (command: string, args: string[] = []) =>
  resolveWindowsCommand(command, args, env, (path) => files.has(path));

describe("a command on Windows", () => {
  test("that is a program is started as it is", () => {
    expect(find("uvx", ["a b", "%PATH%"])).toEqual({
      file: "C:\\tools\\uvx.EXE",
      args: ["a b", "%PATH%"],
      verbatim: false,
    });
  });

  test("that is a script is run by the command interpreter", () => {
    expect(find("npx", ["-y", "@scope/server@1.0", "C:\\my files\\"])).toEqual({
      file: "C:\\cmd.exe",
      args: [
        "/e:ON",
        "/v:OFF",
        "/d",
        "/c",
        '""C:\\Program Files\\nodejs\\npx.CMD" -y @scope/server@1.0 "C:\\my files\\\\""',
      ],
      verbatim: true,
    });
    expect(find("C:\\own\\run.bat").verbatim).toBe(true);
  });

  test("that is not found is left to the system to refuse", () => {
    expect(find("missing", ["x"])).toEqual({ file: "missing", args: ["x"], verbatim: false });
  });

  test("cannot be made to run another one by its arguments", () => {
    const hostile = ['" & calc & "', "a|b", "%COMSPEC%", "^&whoami", "!x!", "(a)", "x\\", 'y"', "a b", ""];
    const [, , , , line = ""] = find("npx", hostile).args;
    expect(line).toBe(
      '""C:\\Program Files\\nodejs\\npx.CMD" """ & calc & """ "a|b" "%%cd:~,%COMSPEC%%cd:~,%" "^&whoami" "!x!" "(a)" "x\\\\" "y""" "a b" """',
    );
  });

  test("never leaves a sign of the interpreter outside quotes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string().filter((text) => !/[\r\n\0]/.test(text)),
          { minLength: 1 },
        ),
        (args) => {
          const [, , , , line = ""] = find("npx", args).args;
          // The interpreter takes the outermost pair away, and then turns a switch at every quote.
          let quoted = false;
          for (const sign of line.slice(1, -1)) {
            if (sign === '"') quoted = !quoted;
            else if (!quoted) expect("&|<>^()!;,=").not.toContain(sign);
          }
          expect(quoted).toBe(false);
          expect(line.replaceAll("%%cd:~,%", "")).not.toContain("%");
        },
      ),
    );
  });

  test("is refused where an argument would end the line", () => {
    expect(() => find("npx", ["a\nb"])).toThrow(expect.objectContaining({ code: "SPAWN_FAILED" }));
  });
});
