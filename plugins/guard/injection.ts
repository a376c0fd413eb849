/** A pattern of texts that give orders to a model, and what it is in words. */
interface Sign {
  readonly what: string;
  readonly pattern: RegExp;
  /** Whether it is enough by itself; of the others it takes two. */
  readonly enough: boolean;
}

const USER = "(?:the |this |your |its )?(?:users?|humans?|person|people|operators?|owner|them)";
const NOT = "(?:do not|don['’]?t|does not|must not|should not|shall not|never|no need to|without|avoid)";
/** What nobody hands out without being asked for it. */
const SECRET = String.raw`(?:~\/\.\w+|\/etc\/(?:passwd|shadow)|\bid_(?:rsa|ed25519|dsa)|\.(?:env|npmrc|netrc|pem)\b|private keys?|ssh keys?|api[ -]?keys?|credentials?|passwords?|passphrases?|(?:bearer|access|refresh|session|oauth|auth)[ -]?(?:\w+ )?(?:tokens?|cookies?)|cookies|(?:every|all|any|user['’]s|your|their) (?:\w+ )?secrets?\b|secrets? files?|environment variables?|system prompt|(?:whole|entire|full|complete) (?:conversation|chat|list of files)|conversation (?:so far|history)|chat history|browser history|clipboard|last (?:\w+ )?messages?|home (?:address|folder|directory)|(?:banking|bank) (?:login|details)|keychain|env \|)`;
const HANDING =
  "(?:pass|include|attach|append|supply|provide|put|place|send|forward|upload|submit|embed|add|give|hand|exfiltrate|post|transmit|copy|report|repeat|encode|leak)";
const GATHERING = "(?:read|open|cat|fetch|retrieve|collect|gather|load|get|grab|extract|find|scan|zip)";
/** Where what is handed over ends up. */
const SINK =
  "(?:`\\w+`|'\\w+'|\"\\w+\"|parameter|argument|field|https?:\\/\\/|\\S+@\\S+\\.\\w+|query string|response|reply|answer|call|timezone|title|along)";
const NEGATED = String.raw`(?<!\b(?:never|not|don['’]t|cannot|without) (?:\w+ ){0,2})`;

/** Something may follow from what a person has said, and then it is only spoken of. */
const PREMISE = String.raw`(?<!\b(?:after|if|when|once|unless|until|whether|that) (?:\w+ ){0,2})`;

const sign = (what: string, source: string, enough = true): Sign => ({
  what,
  pattern: new RegExp(source, "i"),
  enough,
});

const signs: readonly Sign[] = [
  sign(
    "asks to disregard instructions",
    String.raw`\b(?:ignore|disregard|forget|override|bypass|supersede|neglect|drop)\b (?:\w+[ ,'’]+s? ?){0,5}?(?:(?:previous|prior|earlier|above|existing|other|system|safety|developer['’]?s?|user['’]?s?)\b ?(?:\w+ ){0,2}(?:instructions?|guidance|guidelines|rules|prompts?|directions|directives|polic(?:y|ies)|preferences|checks|warnings)|(?:you were|you have been|you['’]ve been) told|your (?:\w+ )?(?:instructions?|guidelines|rules|training|polic(?:y|ies)|programming))`,
  ),
  sign(
    "asks to disregard instructions",
    String.raw`\b(?:do not|don['’]t|never) (?:follow|obey|heed) (?:the |your |any )?(?:system|user|developer|earlier|previous|safety)|(?:guidelines|rules|restrictions|polic(?:y|ies)|instructions)(?: \w+){0,4} (?:do not apply|are (?:suspended|outdated|void|lifted)|no longer apply|take precedence)|\b(?:system|safety) override\b|\b(?:you have|there are) no restrictions\b(?= (?:and|in|any)|[,;])|no ethical limits|without ethical limits`,
  ),
  sign(
    "speaks as the system or the assistant",
    String.raw`<\|?(?:im_start|im_end|system|endoftext)\|?>|<\/?(?:system|assistant|tool_description|instructions?)>|\[\/?(?:inst|system)\b|\[system:|(?:^|\n)#+ *(?:new )?system prompt|\bnew system prompt\b|(?:^|[.\n] *)(?:assistant|system): `,
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
    String.raw`\b(?:hide|conceal|mask|keep|withhold)\b[^.]{0,50}\b(?:from|secret from|hidden from) ${USER}\b|\bthe (?:user|human|person|people|operator) (?:must|should|shall|need|will)(?: not|n['’]t| never) (?:\w+ )?(?:learn|know|notice|see|find out|be told|be aware|realise|realize)\b|\bthe user never (?:sees|learns|knows|notices)|\bso that ${USER} (?:does not|do not|doesn['’]t|never|will not) (?:notice|see|know|realise|realize)|\bkeep (?:quiet|silent|this secret|it secret|secret)\b|\bdo this (?:covertly|secretly|silently|quietly)\b|\b(?:make no (?:reference|mention)|leave (?:it|this) out of (?:your|the))\b|\b(?:if|when) (?:the user|they|asked)[^.]{0,20} asks?,? (?:say|claim|deny)|\bomit that\b|\bwould be upset\b|\bupset (?:the user|them)\b|\bdo not mention\b`,
  ),
  sign(
    "does without consent",
    String.raw`(?<!\b(?:not|cannot|can['’]t|never|nothing) (?:\w+ ){0,4})\bwithout (?:asking|(?:waiting for )?(?:the |any )?(?:user['’]?s? |human )?(?:consent|permission)\b)|\bdo not (?:wait for|ask for) (?:[\w'’]+ ){0,3}(?:approval|confirmation|permission|consent)|\b(?:needs?|requires?) no (?:confirmation|approval|permission|consent) (?:from|by|of)|\bno reason to ask (?:them|the user)|\bbypass the (?:confirmation|approval)|${PREMISE}(?:user|they|human)(?: has| have)? (?:already (?:approved|agreed|consented|authori[sz]ed)|consented)|\bpre-?authori[sz]ed and\b|\bset auto-?approve\b|\bwithout (?:informing|notifying|telling)[^.]{0,15}user|\b(?:should|if|when) the user (?:refuses?|declines?|objects?)[^.]{0,30}(?:anyway|regardless|still)|\bturn off (?:sandbox|safety|approval)|\bdisable (?:\w+ ){0,2}(?:approval prompts?|sandboxing|firewall and|antivirus|safety)|\bmay run without\b`,
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
    String.raw`\bexfiltrat|\b(?:must|has to|have to|shall|should|needs? to)\b (?:(?:also|first|then|always|immediately|silently|now) ){0,2}(?:${GATHERING}|${HANDING})\b[^.;]{0,60}?${SECRET}`,
  ),
  sign("asks for secrets", SECRET, false),
  sign(
    "sends things elsewhere",
    String.raw`${NEGATED}\b(?:send|forward|upload|copy|copied|forwarded|sent|uploaded|bcc|push)\b[^.;]{0,90}?(?:https?:\/\/|\S+@\S+\.\w{2,}|third party)`,
    false,
  ),
  sign(
    "meddles with other tools",
    String.raw`\b(?:when(?:ever)?|if|before|after)\b[^.]{0,60}\b(?:tools?|servers?)\b(?: \S+){0,2} (?:is|are) (?:available|connected|called|used|invoked|present)\b[^.]{0,40}\b(?:must|has to|have to|should|change|replace|put|ask|this tool|every)|\bwhen(?:ever)? you use (?:the )?tool\b|\b(?:of|on) (?:the )?(?:other|another|any|every) servers?\b|\bany (?:other )?tool must\b|\b(?:all|every|any)(?: \w+){0,2} calls? (?:of|to) (?:any|all|every|other)|\bin all (?:subsequent|later|following|future) tool calls\b|\bbefore (?:every|each) other tool\b|\bside effects? on other tools\b|\bnever use (?:the )?other\b|\brefuse to use\b|\bcall this one (?:for|instead|in)|\beven if the user (?:names|asks|wants|prefers)\b|\bafter calling any\b|\b(?:is|are) only safe if\b|\bbefore any \w+ tool is used\b`,
  ),
  sign(
    "runs commands of its own",
    String.raw`\b(?:curl|wget)\b[^|\n]{0,120}\|\s*(?:ba|z)?sh\b|\brm -rf [~\/]|(?:to|into|in) ~\/\.ssh\/authorized_keys|\b(?:add|write|append)\b[^.]{0,60}\.(?:bash|zsh)rc\b|\bPROMPT_COMMAND\b|\byou (?:must|have to)(?: also)? write a cron ?job|\bgive the account\b[^.]{0,40}\badmin rights\b`,
  ),
  sign(
    "follows what others say",
    String.raw`\b(?:follow|obey|execute|comply with|act on|do what)\b (?:\w+ ){0,5}(?:instructions?|commands?|orders?|directives?|output|it)\b(?: \w+){0,4} (?:that (?:stand|are found|it|appear|come)|in (?:it|tool results?|the page|the output)|says?|below|you find)|\bdecode (?:this|it|the following)[^.]{0,20}(?:follow|execute|obey|run)|\btreat (?:\w+ ){1,4}as (?:trusted|though)|\bwhat its output says\b|\bvendor['’]s directives\b`,
  ),
  sign(
    "threatens",
    String.raw`\b(?:or|otherwise|failure to)\b[^.]{0,60}\b(?:will|would) (?:crash|fail|be deleted|be lost|lose|not work|be terminated)|\botherwise the tool (?:will|does)`,
    false,
  ),
  sign(
    "presses",
    String.raw`<(?:important|critical|hidden|system-reminder)>|\b(?:mandatory|required) by (?:\w+ )?(?:policy|law|compliance)|\bfor compliance\b|\bsecurity (?:check|verification)\b|\bcompany policy\b`,
    false,
  ),
  sign(
    "speaks to the model",
    String.raw`\bnotes? (?:to|for) (?:the )?(?:ai|agents?|models?|assistants?|llms?)\b|\bthe (?:assistant|agent|model|ai|llm) (?:must|has to|shall|should|is required to|needs to)\b|\byou (?:must|have to) also\b|\bfor all later sessions\b|\bhidden (?:parameter|prompt|argument)\b`,
    false,
  ),
];

/** Text that only a machine gets to see, and what else would be out of sight. */
const unseen: readonly Sign[] = [
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

/** Which signs of orders to a model there are in a text; none where it only describes. */
export function injectionIn(text: string): string | undefined {
  for (const { pattern, what } of unseen) if (pattern.test(text)) return what;
  const found = signs.filter(({ pattern }) => pattern.test(text));
  const sure = found.find(({ enough }) => enough);
  if (sure) return sure.what;
  const weak = [...new Set(found.map(({ what }) => what))];
  return weak.length >= 2 ? weak.join(" and ") : undefined;
}
