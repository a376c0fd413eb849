import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeSpan, forEachSpan, splitWords, stem, toNameKey } from "../../../../plugins/lib/text/words.ts";

describe("splits a string into words in lower case:", () => {
  test.each<[string, string[]]>([
    ["create_issue", ["create", "issue"]],
    ["list-open-pull-requests", ["list", "open", "pull", "requests"]],
    ["createIssue", ["create", "issue"]],
    ["GetUserByID", ["get", "user", "by", "id"]],
    ["HTTPServer", ["http", "server"]],
    ["getHTTPStatus_v2", ["get", "http", "status", "v2"]],
    ["parseURLs", ["parse", "urls"]],
    ["listAPIs now", ["list", "apis", "now"]],
    ["URL", ["url"]],
    ["base64 s3 mp3", ["base64", "s3", "mp3"]],
    ["2fa", ["2fa"]],
    ["GitHub and YouTube", ["github", "and", "youtube"]],
    ["GITHUB", ["github"]],
    ["files.read/all:now", ["files", "read", "all", "now"]],
    ["don't stop", ["don", "t", "stop"]],
    ["“quoted” — and … more→there", ["quoted", "and", "more", "there"]],
    ["Café crème ÉCOLE", ["cafe", "creme", "ecole"]],
    ["Straße", ["straße"]],
    ["Größe ändern", ["große", "andern"]],
    ["ｆｕｌｌｗｉｄｔｈ", ["fullwidth"]],
    ["поиск Файлов", ["поиск", "фаилов"]],
    ["αρχείο", ["αρχειο"]],
    ["搜索文件", ["搜索", "索文", "文件"]],
    ["查", ["查"]],
    ["搜索GitHub仓库", ["搜索", "github", "仓库"]],
    ["ファイルを検索", ["ファ", "ァイ", "イル", "ルを", "を検", "検索"]],
    ["파일 검색", ["파일", "검색"]],
    ["ค้นหา", ["ค้", "้น", "นห", "หา"]],
    ["फ़ाइल खोजें", ["फ़ाइल", "खोजें"]],
    ["🚀 launch 🚀", ["launch"]],
    ["a\u0000b\u001b[31mc", ["a", "b", "31mc"]],
    ["\ud800lone\udc00", ["lone"]],
    ["", []],
    [" \t\n", []],
  ])("%j", (text, words) => {
    expect(splitWords(text)).toEqual(words.map((word) => word.normalize("NFKC")));
  });

  test("leaves out words that are too long, and keeps their neighbors", () => {
    expect(splitWords(`before ${"x".repeat(41)} ${"é".repeat(41)} after`)).toEqual(["before", "after"]);
    expect(splitWords("x".repeat(40))).toEqual(["x".repeat(40)]);
  });
});

test("words that are not cut out are the same words, with a hash that does not mind upper case", () => {
  const seen = (text: string): (readonly [string, number])[] => {
    const spans: (readonly [string, number])[] = [];
    forEachSpan(
      text,
      () => {},
      (bytes, start, end, hash) => spans.push([decodeSpan(bytes, start, end), hash]),
    );
    return spans;
  };
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9 _-]{0,60}$/), (text) => {
      expect(seen(text).map(([word]) => word)).toEqual(splitWords(text));
      const capitalised = text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
      expect(seen(capitalised.replace(/(?<=_)[a-z]/g, (letter) => letter.toUpperCase()))).toEqual(seen(text));
    }),
  );
});

test("words hold only letters and digits in lower case, whatever the string", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 100 }),
    fc.string({ unit: "grapheme", maxLength: 100 }),
    fc.string({ unit: "grapheme-ascii", maxLength: 100 }),
  );
  fc.assert(
    fc.property(text, (given) => {
      for (const word of splitWords(given)) {
        expect(word).toMatch(/^[\p{L}\p{M}\p{N}]+$/u);
        expect(word).toBe(word.toLowerCase());
        expect(word.length).toBeLessThanOrEqual(40);
        // Taken apart once more, it is itself, unless it is a pair of neighbors with a mark.
        if (/^[a-z0-9]+$/.test(word)) expect(splitWords(word)).toEqual([word]);
      }
    }),
  );
});

describe("forms of a word have one stem:", () => {
  test.each([
    ["file", "files", "filed", "filing"],
    ["create", "creates", "created", "creating"],
    ["add", "adds", "added", "adding"],
    ["query", "queries", "queried", "querying"],
    ["search", "searches", "searched", "searching"],
    ["tag", "tags", "tagged", "tagging"],
    ["process", "processes", "processed", "processing"],
    ["use", "uses", "used", "using"],
    ["embed", "embeds", "embedded", "embedding"],
    ["day", "days"],
    ["key", "keys"],
    ["status", "statuses"],
    ["id", "ids"],
    ["index", "indexes", "indices", "indexing"],
    ["person", "people"],
    ["agree", "agrees", "agreed", "agreeing"],
    ["url", "urls"],
    ["address", "addresses"],
    ["bill", "bills", "billing"],
  ])("%s", (...forms) => {
    expect(new Set(forms.map(stem))).toEqual(new Set([stem(forms[0] ?? "")]));
  });

  test.each([
    ["news", "new"],
    ["string", "str"],
    ["bring", "br"],
    ["feed", "fe"],
    ["aws", "aw"],
    ["sms", "sm"],
    ["dns", "dn"],
    ["need", "ne"],
    ["user", "us"],
    ["general", "generator"],
    ["access", "acces"],
  ])("%s is not %s", (one, other) => {
    expect(stem(one)).not.toBe(stem(other));
  });

  test("a stem is never empty, and no longer than its word by more than an ending", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,12}(s|es|ed|ing|ies|y)?$/), (word) => {
        expect(stem(word).length).toBeGreaterThan(0);
        expect(stem(word).length).toBeLessThanOrEqual(word.length);
      }),
    );
  });
});

describe("the key of a name", () => {
  test.each([
    ["create_issue", "createIssue"],
    ["create-issue", "CREATE ISSUE"],
    ["github:create_issue", "GitHub create issue"],
    ["café", "CAFE"],
    ["搜索 文件", "搜索文件"],
  ])("of %j is that of %j", (one, other) => {
    expect(toNameKey(one)).toBe(toNameKey(other));
  });

  test.each([
    ["read_file", "read_files"],
    ["搜索", "文件"],
  ])("of %j is not that of %j", (one, other) => {
    expect(toNameKey(one)).not.toBe(toNameKey(other));
  });
});
