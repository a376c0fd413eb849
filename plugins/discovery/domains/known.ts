/** Products by their domain and the words that name them. Two words go before one. */
const products = `
cloud.aws: aws, amazon, s3, ec2, lambda, dynamodb, cloudwatch, bedrock, sqs, sns, ecs, eks, cdk, awslabs
cloud.azure: azure, aks, cosmosdb, entra, bicep
cloud.gcp: gcp, gcloud, google cloud, cloud run, gke, bigquery, vertex
cloud.cloudflare: cloudflare
cloud.digitalocean: digitalocean, digital ocean
cloud.vercel: vercel
cloud.netlify: netlify
cloud.heroku: heroku
cloud.hostinger: hostinger
cloud.alibaba: alibaba, aliyun
cloud.tencent: tencent, cloudbase
cloud.docker: docker, dokploy, podman
cloud.kubernetes: kubernetes, k8s, kubectl, helm
cloud.terraform: terraform, opentofu, pulumi
communication.slack: slack
communication.discord: discord
communication.telegram: telegram
communication.whatsapp: whatsapp
communication.teams: teams
communication.twilio: twilio
communication.lark: lark, feishu, larksuite
communication.line: line
communication.chatwork: chatwork
communication.zoom: zoom
communication.email: gmail, email, mail, imap, smtp, outlook, resend, sendgrid, mailgun, mailchimp, postmark
database.postgres: postgres, postgresql, pg, neon
database.mysql: mysql, mariadb
database.sqlite: sqlite
database.mongodb: mongodb, mongo
database.redis: redis, upstash, valkey
database.supabase: supabase
database.snowflake: snowflake
database.clickhouse: clickhouse
database.elasticsearch: elasticsearch, elastic, opensearch
database.neo4j: neo4j
database.duckdb: duckdb, motherduck
database.mssql: mssql, sqlserver
database.vector: pinecone, qdrant, chroma, chromadb, weaviate, milvus
messaging.kafka: kafka, confluent
messaging.rabbitmq: rabbitmq
project.jira: jira, atlassian
project.linear: linear
project.asana: asana
project.trello: trello
project.todoist: todoist
project.clickup: clickup
project.monday: monday
knowledge.notion: notion, notionhq
knowledge.confluence: confluence
knowledge.obsidian: obsidian
payment.stripe: stripe
payment.paypal: paypal
payment.paddle: paddle
payment.square: square
payment.paystack: paystack
commerce.shopify: shopify
crm.salesforce: salesforce
crm.hubspot: hubspot
support.zendesk: zendesk
support.intercom: intercom
monitoring.sentry: sentry
monitoring.datadog: datadog
monitoring.grafana: grafana, prometheus, loki
monitoring.pagerduty: pagerduty
analytics.google: google analytics, ga4
analytics.metabase: metabase
analytics.posthog: posthog
design.figma: figma
browser: playwright, puppeteer, browser, chrome, devtools, selenium, browserbase
search.brave: brave
search.tavily: tavily
search.exa: exa
search.google: google search, serpapi, serper
web.firecrawl: firecrawl
web: fetch
maps: google map, google maps, baidu map, openstreetmap, mapbox, maps
calendar: google calendar, calendar, caldav
spreadsheet.google: google sheets, gsheets
spreadsheet.airtable: airtable
spreadsheet.excel: excel
storage.google: google drive, gdrive
storage.dropbox: dropbox
productivity.microsoft: ms 365, microsoft 365, office, ms365, m365
filesystem: filesystem, desktop commander
shell: shell, terminal, ssh, bash
memory: memory, knowledge graph
weather: weather, open meteo, openweather, openweathermap
git: git
github: github, octocat
gitlab: gitlab
bitbucket: bitbucket
media.youtube: youtube
media.spotify: spotify
social.linkedin: linkedin
social.twitter: twitter, tweet
social.reddit: reddit
ai.openai: openai, chatgpt
ai.huggingface: huggingface, hugging face
ai.replicate: replicate
time: time
`;

/** Domains of products, by the one or two words that name them. */
export const knownDomains: ReadonlyMap<string, string> = new Map(
  products
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [domain = "", words = ""] = line.split(": ");
      return words.split(", ").map((word) => [word, domain] as const);
    }),
);
