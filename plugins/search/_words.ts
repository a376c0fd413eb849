/** Names that are written with capitals inside, and are one word all the same. */
export const brands: ReadonlySet<string> = new Set(
  `github gitlab youtube linkedin javascript typescript mongodb postgresql mysql sqlite graphql openai whatsapp
  paypal wordpress hubspot clickup devtools facebook ebay iphone ipad macos ios openapi nosql dynamodb
  mariadb bigquery duckdb airbnb doordash stackoverflow sharepoint onedrive powerpoint quickbooks salesforce
  tiktok woocommerce webhook webhooks websocket sendgrid mailchimp coingecko coinmarketcap huggingface langchain
  cloudflare circleci jetbrains fastapi numpy pytorch tensorflow arxiv pubmed chatgpt deepseek openweather
  soundcloud imdb mcdonalds`.split(/\s+/),
);

/** Words that say nothing about which tool is meant. */
export const stopWords: ReadonlySet<string> = new Set(
  `a an and any are as at be been being but by can cannot could did do does doing done dont for from had has have
  having he her here hers him his how i if im in into is it its ive just let lets like ll m may me might
  more most must my need needed needs no nor not of off on once one only or other our ours out over own please
  re s same shall she should so some such t than that the their theirs them then there these they this those
  through to too under until up us using ve very via want wanted wants was we were what when where which while
  who whom whose why will with within without would you your yours d am also able about actually
  additionally along already although always another anyone anything around based because before between both
  each either else etc ever every few furthermore give given gives help helpful helps however
  interested kindly know looking maybe moreover much now okay perhaps planning possible provide provides
  provided really regarding specific specified still sure tell thank thanks things think thus tool tools
  try trying use used useful uses various way well whether wish wonder wondering yes yet`.split(/\s+/),
);
