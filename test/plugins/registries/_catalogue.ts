import { type Wire, wire } from "./_registry.ts";

/** Servers as registries list them: a name, and one line of what it does. */
const lines = `
io.github.octodev/github-mcp-server|Manage repositories, issues, pull requests and workflows on GitHub
com.gitlab/mcp|Work with GitLab projects, merge requests and CI pipelines
io.github.trackline/jira-mcp|Create and update Jira tickets, sprints and boards
app.linear/linear|Project tracking for software teams: issues, cycles and roadmaps
com.notion/mcp|Read and write pages and databases in a Notion workspace
io.github.papertrail/obsidian-vault|Search and edit Markdown notes in an Obsidian vault
com.slackhelp/slack|Send messages, read channels and manage threads in Slack
io.github.parley/discord-bot|Post to Discord guilds and moderate members
io.github.mailwind/gmail-tools|Search, label and send mail through a Gmail account
com.postbox/smtp-sender|Deliver transactional mail over SMTP
io.github.daybook/google-calendar|List, create and reschedule events in Google Calendar
com.meetly/scheduler|Find free slots and book meetings across calendars
io.github.elephant-sql/postgres-mcp|Run read-only SQL queries against PostgreSQL and inspect schemas
io.github.seagull/mysql-explorer|Browse tables and execute statements on MySQL or MariaDB
com.mongodb/mcp-server|Query collections and manage clusters in MongoDB Atlas
io.github.littlebase/sqlite|Local SQLite database access with safe transactions
com.redis/mcp|Natural language interface to keys, streams and vectors in Redis
com.elastic/search-mcp|Full-text search over Elasticsearch indices
io.github.skywatch/weather-station|Current conditions and seven day forecasts from public meteorological services
com.climacell/air|Air quality, pollen and UV index by city
io.github.wayfarer/osm-maps|Geocoding, routing and points of interest from OpenStreetMap
com.mapkit/directions|Turn-by-turn driving, walking and transit directions
io.github.headless/playwright-browser|Automate a browser: navigate pages, click, fill in forms and take screenshots
com.crawlbase/scraper|Extract structured content from websites and crawl links
com.brave/search|Web, news and image search with an independent index
io.github.arxivist/papers|Find, download and summarise academic papers from arXiv
io.github.pdfsmith/pdf-tools|Merge, split, OCR and extract text from PDF documents
com.tabular/sheets|Read ranges, write cells and build charts in Google Sheets
io.github.voxel/text-to-speech|Synthesise natural voices from text and transcribe recordings
com.pixelforge/imagine|Generate and edit pictures with diffusion models
com.stripe/mcp|Create customers, invoices, refunds and payment links
com.paywise/ledger|Double-entry bookkeeping, expenses and tax reports
io.github.tickerly/market-data|Stock quotes, historical prices and company fundamentals
com.chainlens/crypto|Wallet balances, token transfers and on-chain analytics
com.amazonaws.labs/s3-browser|List buckets, upload and download objects in S3
io.github.helmsman/kubernetes|Inspect pods, deployments and logs in a Kubernetes cluster
com.docker/mcp-containers|Start, stop and inspect containers, images and volumes
com.sentry/mcp|Investigate exceptions, stack traces and releases in Sentry
com.grafana/mcp-grafana|Query dashboards, metrics and alerts in Grafana
io.github.hearth/home-assistant|Control lights, thermostats and sensors of a smart home
io.github.sous/recipes|Meal plans, recipes and shopping lists by ingredient
com.lingua/translate|Translate text between more than one hundred languages
`;

/** About forty of them. */
export const catalogue: readonly Wire[] = lines
  .trim()
  .split("\n")
  .map((line) => {
    const [name = "", description = ""] = line.split("|");
    return wire(name, { description });
  });

/** Queries of users, and the server that each means. */
export const questions: readonly (readonly [query: string, name: string])[] = [
  ["create a pull request", "io.github.octodev/github-mcp-server"],
  ["open a bug ticket", "io.github.trackline/jira-mcp"],
  ["edit my markdown notes", "io.github.papertrail/obsidian-vault"],
  ["send a chat message to a channel", "com.slackhelp/slack"],
  ["search my emails", "io.github.mailwind/gmail-tools"],
  ["book a meeting", "com.meetly/scheduler"],
  ["run sql on a postgres database", "io.github.elephant-sql/postgres-mcp"],
  ["weather forecast", "io.github.skywatch/weather-station"],
  ["is the air polluted", "com.climacell/air"],
  ["how do I get from A to B by car", "com.mapkit/directions"],
  ["take a screenshot of a web page", "io.github.headless/playwright-browser"],
  ["scrape a website", "com.crawlbase/scraper"],
  ["scientific articles", "io.github.arxivist/papers"],
  ["extract text from a pdf file", "io.github.pdfsmith/pdf-tools"],
  ["spreadsheet", "com.tabular/sheets"],
  ["transcribe audio", "io.github.voxel/text-to-speech"],
  ["draw an image", "com.pixelforge/imagine"],
  ["refund a customer", "com.stripe/mcp"],
  ["share price of a company", "io.github.tickerly/market-data"],
  ["upload a file to a bucket", "com.amazonaws.labs/s3-browser"],
  ["logs of a k8s pod", "io.github.helmsman/kubernetes"],
  ["why did my app crash", "com.sentry/mcp"],
  ["turn off the lights", "io.github.hearth/home-assistant"],
  ["what can I cook with tomatoes", "io.github.sous/recipes"],
  ["translation", "com.lingua/translate"],
];
