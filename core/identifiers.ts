// Looked through once a name, and only where it holds more than ASCII.
const PLAIN = /^[ -~]*$/;
/** What cannot be seen: controls, marks of direction, joiners, fillers, private and broken characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u;
/** A name that stands for another folder wherever names become paths. */
const OTHER_FOLDER = /(?:^|[\\/])\.{1,2}(?:[\\/]|$)/;

// Letters of other alphabets that look like Latin ones, each before what it looks like.
const ALIKE = new Map(
  [
    "аa еe оo рp сc уy хx ѕs іi јj ԁd ԛq ԝw һh ӏl ѵv АA ВB ЕE КK МM НH ОO РP СC ТT ХX ЅS ІI ЈJ ԚQ ԜW",
    "αa οo ρp νv ιi κk τt ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",
    "ıi ȷj ɑa ɡg օo սu հh ոn ցg աw ᴏo ᴠv ᴡw ᴢz",
    "‐- ‑- ‒- –- —- −- ˗- ․. ⁄/ ∕/ ∶: ꞉:",
  ].flatMap((row) => row.split(" ").map((pair) => [...pair] as [string, string])),
);

/** Why a text cannot be part of an id, or nothing where it can. */
export function identifierFault(text: string): string | undefined {
  if (!PLAIN.test(text) && UNSEEN.test(text)) return "it holds a character that cannot be seen";
  if (OTHER_FOLDER.test(text)) return 'it holds a path to another folder ("..")';
}

/** What a name looks like: names that a person cannot tell apart look the same. */
export function lookOf(name: string): string {
  if (PLAIN.test(name)) return name;
  let look = "";
  for (const character of name.normalize("NFKC")) {
    if (character !== "\ufe0f") look += ALIKE.get(character) ?? character;
  }
  return look;
}
