import { type Sign, sign } from "./_signs.ts";
import { plainOf } from "./hidden.ts";

const UNICODE = { flags: "u" };

/** The commonest orders in the languages that most models follow as well as English; letters as a scan sees them. */
export const foreignSigns: readonly Sign[] = [
  sign(
    "asks to disregard instructions",
    String.raw`\bignor(?:a|e|ez|iere|ieren sie|er)\b (?:[\p{L}]+ ){0,4}(?:instrucciones|instruções|istruzioni|instructions|anweisungen|consignes|befehle|regeln|regole|reglas)|\bnegeer\b (?:\p{L}+ ){0,3}(?:instructies|regels)|${plainOf("игнорируй(?:те)?")} (?:\p{L}+ ){0,3}${plainOf("(?:инструкции|указания|правила)")}|(?:忽略|无视|無視)(?:掉)?(?:所有|之前|以上|先前|前面|上述|你的|的|任何){0,4}(?:指令|指示|规则|規則|提示)|(?:以前|これまで|上記|前)の(?:すべての|全ての)?(?:指示|命令|ルール)(?:は|を)(?:すべて|全て)?(?:無視|忘れ)`,
    UNICODE,
  ),
  sign(
    "keeps something from the user",
    String.raw`\bno (?:se )?(?:lo |le )?(?:digas|cuentes|menciones|informes)\b[^.]{0,30}\busuari[oa]\b|\bnão (?:conte|diga|mencione|informe)\b[^.]{0,30}\busuári[oa]\b|\bne (?:le |l['’])?(?:dites|dis|mentionne[sz]?|parle[sz]?|révèle[sz]?)\b[^.]{0,40}\butilisat(?:eur|rice)\b|\bnon (?:dire|dirlo|menzionare|informare)\b[^.]{0,30}\butente\b|\b(?:sag|sage|sagen sie|erzähle?|verrate|teile)\b[^.]{0,30}\b(?:dem (?:be)?nutzer|der nutzerin)\b[^.]{0,20}\b(?:nichts|nicht)\b|\bdem (?:be)?nutzer (?:\p{L}+ ){0,3}(?:nichts|nicht) (?:sagen|mitteilen|erzählen)\b|${plainOf("не (?:говори|сообщай|рассказывай)")}\p{L}*[^.]{0,30}${plainOf("пользовател")}|(?:不要|别|勿|請勿|请勿)(?:(?:告诉|告訴|告知|通知|透露给)(?:任何)?(?:用户|使用者|用戶)|向(?:用户|使用者|用戶)(?:透露|说|說|提及|提起))|ユーザーに(?:は)?[^。]{0,10}(?:言わない|知らせない|伝えない|教えない)`,
    UNICODE,
  ),
];
