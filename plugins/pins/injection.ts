import { toPlainText } from "./hidden.ts";

/** A pattern found in texts that give orders to a model. */
interface Sign {
  /** Completes a sentence about a text with this sign. */
  readonly what: string;
  /** Returns whether a lower-case text has the sign: a pattern that ignores case takes twice as long. */
  isIn(text: string): boolean;
  /** Whether the sign is enough by itself; of the others it takes two. */
  readonly isEnough: boolean;
}

const USER = "(?:the |this |your |its )?(?:users?|humans?|person|people|operators?|owner|them)";
const NOT = "(?:do not|don['’]?t|does not|must not|should not|shall not|never|no need to|without|avoid)";
/** Data that is never handed out without a request. */
const SECRET = String.raw`(?:~\/\.\w+|\/etc\/(?:passwd|shadow)|\bid_(?:rsa|ed25519|dsa)|\.(?:env|npmrc|netrc|pem)\b|private keys?|ssh keys?|(?<!per )api[ -]?keys?|credentials?|passwords?|passphrases?|(?:bearer|access|refresh|session|oauth|auth)[ -]?(?:\w+ )?(?:tokens?|cookies?)|cookies|(?:every|all|any|user['’]s|your|their) (?:\w+ )?secrets?\b|secrets? files?|environment variables?|system prompt|(?:whole|entire|full|complete) (?:conversation|chat|list of files)|conversation (?:so far|history)|chat history|browser history|clipboard|last (?:\w+ )?messages?|home (?:address|folder|directory)|(?:banking|bank) (?:login|details)|keychain|env \|)`;
const HANDING =
  "(?:pass|paste|dump|insert|include|attach|append|supply|provide|put|place|send|forward|upload|submit|embed|add|give|hand|exfiltrate|post|transmit|copy|report|repeat|encode|leak)";
const GATHERING = "(?:read|open|cat|fetch|retrieve|collect|gather|load|get|grab|extract|find|scan|zip)";
/** The place that data is handed to. */
const SINK =
  "(?:`\\w+`|'\\w+'|\"\\w+\"|parameter|argument|field|https?:\\/\\/|\\S+@\\S+\\.\\w+|query string|response|reply|answer|call|timezone|title|along)";
const NEGATED = String.raw`(?<!\b(?:never|not|don['’]t|cannot|without) (?:\w+ ){0,2})`;

/** A condition before its subject: the text only speaks of what follows from the answer of a person. */
const PREMISE = String.raw`(?<!\b(?:after|if|when|once|unless|until|whether|that) (?:\w+ ){0,2}(?:user|they|human))`;

/** Creates a sign. Its pattern is compiled when it is first used: most starts meet no new tool. */
function sign(
  what: string,
  source: string,
  { isEnough = true, flags = "" }: { readonly isEnough?: boolean; readonly flags?: string } = {},
): Sign {
  let pattern: RegExp | undefined;
  return {
    what,
    isEnough,
    isIn(text) {
      pattern ??= new RegExp(source, flags);
      return pattern.test(text);
    },
  };
}

const WEAK = { isEnough: false };

/** Orders to a model, in a text whose words are one space apart. */
const englishSigns: readonly Sign[] = [
  sign(
    "asks to disregard instructions",
    String.raw`\b(?:ignore|disregard|forget|override|bypass|supersede|neglect|drop)\b (?:\w+[ ,'’]+s? ?){0,5}?(?:(?:previous|prior|earlier|above|existing|other|system|safety|developer['’]?s?|user['’]?s?)\b ?(?:\w+ ){0,2}(?:instructions?|guidance|guidelines|rules|prompts?|directions|directives|polic(?:y|ies)|preferences|checks|warnings)|(?:you were|you have been|you['’]ve been) told|your (?:\w+ )?(?:instructions?|guidelines|rules|training|polic(?:y|ies)|programming))`,
  ),
  sign(
    "asks to disregard instructions",
    String.raw`\b(?:do not|don['’]t|never) (?:follow|obey|heed) (?:the |your |any )?(?:system|user|developer|earlier|previous|safety)|(?:guidelines|rules|restrictions|polic(?:y|ies)|instructions)(?: \w+){0,4} (?:do not apply|are (?:suspended|outdated|void|lifted)|no longer apply|take precedence)|\b(?:system|safety) override\b|(?<!\b(?:if|when|where|while|unless|means|that) )\b(?:you have|there are) no restrictions\b(?= (?:and|in|any)|[,;])|no ethical limits|without ethical limits`,
  ),
  sign(
    "changes who the model is",
    String.raw`\byou are now (?!able|connected|ready)|\b(?:developer|god|jailbreak|dan|unrestricted|root) mode\b|\bfrom now on,? you\b|\bact as (?:root|an? (?:administrator|unrestricted))|\byour new (?:task|role|goal|instructions?)\b|\bpretend (?:that )?(?:the user|you)\b|\bas the assistant, your\b|\bremember (?:this|these) (?:rules?|instructions?|orders?)\b|\bnever refuse\b|\bthe assistant (?:trusts|obeys|never asks)`,
  ),
  sign(
    "claims an authority",
    String.raw`\b(?:message|notice|order|instruction)s? (?:from|by) (?:anthropic|openai|google|microsoft|the (?:developers?|administrators?|system))\b|\b(?:anthropic|openai|google|system|admin(?:istrator)?)(?: security)? (?:notice|directive|order)\b|\battention,? (?:all )?(?:ai|agents?|models?|assistants?|llms?)\b|\bnotes? for other tools\b|\bthe (?:administrator|vendor|platform) requires\b`,
  ),
  sign(
    "keeps something from the user",
    String.raw`\b${NOT}\b (?!bother)(?:\w+ ){0,3}?(?:tell|tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|disclos(?:e|ing)|reveal(?:ing)?|let|bring(?:ing)?)\b(?: \w+){0,4}? ${USER}\b`,
  ),
  sign(
    "keeps something from the user",
    String.raw`\b(?:hide|conceal|mask|keep|withhold)\b[^.]{0,50}\b(?:from|secret from|hidden from) ${USER}\b|\bthe (?:user|human|person|people|operator) (?:must|should|shall|need|will)(?: not|n['’]t| never) (?:\w+ )?(?:learn|know|notice|see|find out|be told|be aware|realise|realize)\b|\bthe user never (?:sees|learns|knows|notices)|\bso that ${USER} (?:does not|do not|doesn['’]t|never|will not) (?:notice|see|know|realise|realize)|\bkeep (?:quiet|silent|this secret|it secret|secret)\b|\bdo this (?:covertly|secretly|silently|quietly)\b|\b(?:make no (?:reference|mention)|leave (?:it|this) out of (?:your|the))\b|\b(?:if|when) (?:the user|they|asked)[^.]{0,20} asks?(?: (?:why|whether|what happened|about (?:it|this|that))\b[^.]{0,60})?,? (?:say|claim|deny)\b|\bthe (?:user|human|person|operator) (?:(?:is|are) (?:not|never)|(?:must|should|shall|need)(?: not| never|n['’]t) be) (?:told|made aware)\b|\b(?:do not|don['’]t|never) bring (?:it|this|that) up\b|\bsay nothing (?:about|of) (?:it|this|that)\b|\bnever tell anyone\b|\bwithout (?:showing|displaying|revealing) (?:it|this|that|them|these|any of \w+) to\b|\b(?:silently|secretly|covertly|discreetly) (?:call|send|forward|upload|run|invoke|execute|pass|include|attach|read|open|copy|post|transmit)\b|\bomit that\b|\bwould be upset\b|\bupset (?:the user|them)\b|\bdo not mention\b`,
  ),
  sign(
    "does without consent",
    String.raw`\bwithout (?<!\b(?:not|cannot|can['’]t|never|nothing) (?:\w+ ){0,4}without )(?:asking|(?:waiting for )?(?:the |any )?(?:user['’]?s? |human )?(?:consent|permission)\b)|\bdo not (?:wait for|ask for) (?:[\w'’]+ ){0,3}(?:approval|confirmation|permission|consent)|\b(?:needs?|requires?) no (?:confirmation|approval|permission|consent) (?:from|by|of)|\bno reason to ask (?:them|the user)|\bbypass the (?:confirmation|approval)|(?:user|they|human)${PREMISE}(?: has| have)? (?:already (?:approved|agreed|consented|authori[sz]ed)|consented)|\bpre-?authori[sz]ed and\b|\bset auto-?approve\b|\bwithout (?:informing|notifying|telling)[^.]{0,15}user|\b(?:should|if|when) the user (?:refuses?|declines?|objects?)[^.]{0,30}(?:anyway|regardless|still)|\bturn off (?:sandbox|safety|approval)|\bdisable (?:\w+ ){0,2}(?:approval prompts?|sandboxing|firewall and|antivirus|safety)|\buser (?:approval|consent|confirmation|permission) is no longer (?:needed|required|necessary)|\byou (?:have been|are|were)(?: now)? (?:granted|given) (?:elevated|full|admin(?:istrator)?|root|unrestricted|special) (?:permissions?|access|rights|privileges)|\b(?:whatever|no matter (?:what|which)|regardless of (?:what|which))\b[^.]{0,30}\b(?:the user|they) (?:names?|says?|said|asks?|asked|wants?|tells?)\b|\bmay run without\b`,
  ),
  sign(
    "asks for secrets",
    String.raw`${NEGATED}\b${GATHERING}\b(?! (?:only|-only))[^.;]{0,80}?${SECRET}[^]{0,120}?\b${HANDING}\b[^]{0,80}?${SINK}`,
  ),
  sign(
    "asks for secrets",
    String.raw`${NEGATED}\b${HANDING}\b[^.;]{0,90}?${SECRET}[^.;]{0,60}?\b(?:in|into|as|to|with|along|right away|through|by)\b[^.;]{0,30}?${SINK}`,
  ),
  sign(
    "asks for secrets",
    String.raw`\b(?:must|has to|have to|shall|should|needs? to)\b (?:(?:also|first|then|always|immediately|silently|now) )*(?:${GATHERING}|${HANDING})\b[^.;]{0,60}?${SECRET}`,
  ),
  sign("asks for secrets", String.raw`\bexfiltrat`),
  sign("asks for secrets", SECRET, WEAK),
  sign(
    "sends things elsewhere",
    String.raw`\bthen (?:also )?(?:send|forward|upload|post|push|copy) (?:its|their|the) (?:values?|contents?|results?|output|answers?) (?:on )?to (?:https?:\/\/|\S+@)`,
  ),
  sign(
    "sends things elsewhere",
    String.raw`${NEGATED}\b(?:send|forward|upload|copy|copied|forwarded|sent|uploaded|bcc|push)\b[^.;]{0,90}?(?:https?:\/\/|\S+@\S+\.\w{2,}|third party)`,
    WEAK,
  ),
  sign(
    "meddles with other tools",
    String.raw`\b(?:when(?:ever)?|if|before|after)\b[^.]{0,60}\b(?:tools?|servers?)\b(?: \S+){0,2} (?:is|are) (?:available|connected|called|used|invoked|present)\b[^.]{0,40}\b(?:must|has to|have to|should|change|replace|put|ask|this tool|every)|\bwhen(?:ever)? you use (?:the )?tool\b|\b(?:of|on) (?:the )?(?:other|another|any|every) servers?\b|\bany (?:other )?tool must\b|\b(?:all|every|any)(?: \w+){0,2} calls? (?:of|to) (?:any|all|every|other)|\bin all (?:subsequent|later|following|future) tool calls\b|\bbefore (?:every|each) other tool\b|\bside effects? on other tools\b|\bnever use (?:the )?other\b|\b(?:do not|don['’]t|never|stop) (?:use|using|call|calling)\b[^.]{0,80}\b(?:use|call) this (?:one|tool) for (?:every|all|any)\b|\b(?:using|use) this tool in place of (?:all|any|every)\b|\brefuse to use\b|\bcall this one (?:for|instead|in)|\beven if the user (?:names|asks|wants|prefers)\b|\bafter calling any\b|\b(?:is|are) only safe if\b|\bbefore any \w+ tool is used\b`,
  ),
  sign(
    "runs commands of its own",
    String.raw`\b(?:curl|wget)\b[^|\n]{0,120}\|\s*(?:ba|z)?sh\b|\b(?:curl|wget)\b[^]{0,200}\$\((?:cat|env|printenv)\b|\brm -rf [~\/]|(?:to|into|in) ~\/\.ssh\/authorized_keys|\b(?:add|write|append)\b[^.]{0,60}\.(?:bash|zsh)rc\b|\bprompt_command\b|\byou (?:must|have to)(?: also)? write a cron ?job|\bgive the account\b[^.]{0,40}\badmin rights\b`,
  ),
  sign(
    "follows what others say",
    String.raw`\b(?:follow|obey|execute|comply with|act on|do what)\b (?:\w+ ){0,5}(?:instructions?|commands?|orders?|directives?|output|it)\b(?: \w+){0,4} (?:that (?:stand|are found|it|appear|come)|in (?:it|tool results?|the page|the output)|says?|below|you find)|\bdecode (?:this|it|the following)[^.]{0,20}(?:follow|execute|obey|run)|\btreat (?:\w+ ){1,4}as (?:trusted|though)|\bwhatever (?:\w+ ){1,4}(?:tells|asks|orders) you(?: to)?\b|\btakes? (?:precedence|priority) over (?:what (?:the )?(?:user|system|developer)|(?:the )?(?:user|system|developer)(?:['’]s)? (?:requests?|instructions?|prompts?|messages?|wish|wishes|orders?)\b)|\bwhat its output says\b|\bvendor['’]s directives\b`,
  ),
  sign(
    "threatens",
    String.raw`\b(?:or|otherwise|failure to)\b[^.]{0,60}\b(?:will|would) (?:crash|fail|be deleted|be lost|lose|not work|be terminated)|\botherwise the tool (?:will|does)`,
    WEAK,
  ),
  sign(
    "goes around a question",
    String.raw`\bskip (?:the |any |all )?(?:user )?(?:confirmation|approval|consent|permission) (?:dialogs?|prompts?|steps?|questions?)\b`,
    WEAK,
  ),
  sign(
    "presses",
    String.raw`<(?:important|critical|hidden|system-reminder)>|\b(?:mandatory|required) by (?:\w+ )?(?:policy|law|compliance)|\bfor compliance\b|\bsecurity (?:check|verification)\b|\bcompany policy\b`,
    WEAK,
  ),
  sign(
    "speaks to the model",
    String.raw`\bnotes? (?:to|for) (?:the )?(?:ai|agents?|models?|assistants?|llms?)\b|\bthe (?:assistant|agent|model|ai|llm) (?:must|has to|shall|should|is required to|needs to)\b|\byou (?:must|have to) also\b|\bfor all later sessions\b|\bhidden (?:parameter|prompt|argument)\b|(?:^|[.([] ?)(?:ai|llm|agent|model)s?: `,
    WEAK,
  ),
];

const UNICODE = { flags: "u" };

/** The most common orders in languages that most models follow as well as English; letters as a scan sees them. */
const foreignSigns: readonly Sign[] = [
  sign(
    "asks to disregard instructions",
    String.raw`\bignor(?:a|e|ez|iere|ieren sie|er)\b (?:[\p{L}]+ ){0,4}(?:instrucciones|instruções|istruzioni|instructions|anweisungen|consignes|befehle|regeln|regole|reglas)|\bnegeer\b (?:\p{L}+ ){0,3}(?:instructies|regels)|${toPlainText("игнорируй(?:те)?")} (?:\p{L}+ ){0,3}${toPlainText("(?:инструкции|указания|правила)")}|(?:忽略|无视|無視)(?:掉)?(?:所有|之前|以上|先前|前面|上述|你的|的|任何){0,4}(?:指令|指示|规则|規則|提示)|(?:以前|これまで|上記|前)の(?:すべての|全ての)?(?:指示|命令|ルール)(?:は|を)(?:すべて|全て)?(?:無視|忘れ)`,
    UNICODE,
  ),
  sign(
    "keeps something from the user",
    String.raw`\bno (?:se )?(?:lo |le )?(?:digas|cuentes|menciones|informes)\b[^.]{0,30}\busuari[oa]\b|\bnão (?:conte|diga|mencione|informe)\b[^.]{0,30}\busuári[oa]\b|\bne (?:le |l['’])?(?:dites|dis|mentionne[sz]?|parle[sz]?|révèle[sz]?)\b[^.]{0,40}\butilisat(?:eur|rice)\b|\bnon (?:dire|dirlo|menzionare|informare)\b[^.]{0,30}\butente\b|\b(?:sag|sage|sagen sie|erzähle?|verrate|teile)\b[^.]{0,30}\b(?:dem (?:be)?nutzer|der nutzerin)\b[^.]{0,20}\b(?:nichts|nicht)\b|\bdem (?:be)?nutzer (?:\p{L}+ ){0,3}(?:nichts|nicht) (?:sagen|mitteilen|erzählen)\b|${toPlainText("не (?:говори|сообщай|рассказывай)")}\p{L}*[^.]{0,30}${toPlainText("пользовател")}|(?:不要|别|勿|請勿|请勿)(?:(?:告诉|告訴|告知|通知|透露给)(?:任何)?(?:用户|使用者|用戶)|向(?:用户|使用者|用戶)(?:透露|说|說|提及|提起))|ユーザーに(?:は)?[^。]{0,10}(?:言わない|知らせない|伝えない|教えない)`,
    UNICODE,
  ),
];

/** Orders to a model in any language. */
const orders: readonly Sign[] = [...englishSigns, ...foreignSigns];

/** Signs that need the original lines and spaces: turns of a conversation, and text out of sight. */
const hiddenSigns: readonly Sign[] = [
  sign(
    "speaks as the system or the assistant",
    String.raw`<\|?(?:im_start|im_end|system)\|?>|<\|?endoftext\|?>\s*(?:<|#|(?:system|assistant|human|user|you|ignore|now|new)\b)|<\/?(?:system|assistant|tool_description|instructions?)>|\[\/?(?:inst|system)\b|\[system:|(?:^|\n)#+ *(?:new )?system prompt|\bnew system prompt\b|(?:^|[.\n] *)(?:assistant|system): `,
  ),
  sign(
    "has text in an HTML comment",
    String.raw`<!--(?=[^>]{0,500}?\b(?:assistant|agent|model|must|always|ignore|call|read|send|pass|include|instruction)\b)`,
  ),
  sign(
    "has text that is not displayed",
    String.raw`style\s*=\s*["'][^"']{0,500}(?:display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0|visibility\s*:\s*hidden)`,
  ),
  sign(
    "has text far out of sight",
    String.raw`\S[ \t\u00a0\u2000-\u200a\u3000]{200,}\S|\S(?:[ \t]*[\n\u2028\u2029]){25,}[ \t]*\S`,
  ),
];

/** Names the signs of orders to a model in a text; undefined if the text only describes. */
export function findInjection(text: string): string | undefined {
  // An order takes more than one word, unless it is markup or in a script that needs no spaces.
  if (!/[^!-;=-Z\\-~]/.test(text)) return undefined;
  const lower = text.toLowerCase();
  const hidden = hiddenSigns.find(({ isIn }) => isIn(lower));
  if (hidden) return hidden.what;
  const words = unwrap(lower);
  const weak = new Set<string>();
  for (const { what, isIn, isEnough } of orders) {
    if (!isIn(words)) continue;
    if (isEnough) return what;
    weak.add(what);
  }
  return weak.size >= 2 ? [...weak].join(" and ") : undefined;
}

/** Joins lines, and removes marks of emphasis: a model understands words across both. */
function unwrap(text: string): string {
  if (!/[*_\n\t\r]| {2}/.test(text)) return text;
  return text.replace(/\*+|\b_+|_+\b/g, "").replace(/\s+/g, " ");
}
