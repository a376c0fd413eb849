import type * as v from "valibot";
import type { overlaysSchema } from "../../plugins/lib/overlay.ts";

type Overlays = v.InferInput<typeof overlaysSchema>;
type Overlay = Overlays[string];

const stripe: Overlay = {
  name: "Stripe",
  hosts: ["api.stripe.com"],
  description: "Payments, subscriptions, invoices and payouts",
  category: "payments",
  capabilities: [
    "card_payments",
    "one_time_payments",
    "subscriptions",
    "refunds",
    "invoicing",
    "payouts",
    "marketplace",
  ],
  documentation: "https://docs.stripe.com/api",
  envVar: "STRIPE_SECRET_KEY",
  commonOperations: [
    "post-payment-intents",
    "get-payment-intents",
    "post-customers",
    "post-refunds",
    "post-subscriptions",
  ],
  errors: [
    {
      code: "card_declined",
      meaning: "The bank of the card declined the charge.",
      fix: "Ask for another card; decline_code says why, where the bank does.",
    },
    {
      code: "resource_missing",
      meaning: "There is no object with this id, or it is in the other of test and live mode.",
      fix: "Check the id, and that STRIPE_SECRET_KEY is of the mode it was made in.",
    },
    {
      code: "parameter_missing",
      meaning: "A parameter that is needed was not sent.",
      fix: "Add the parameter that param names.",
    },
    {
      code: "rate_limit",
      meaning: "Too many requests were made in a short time.",
      fix: "Wait, and make fewer requests at once.",
    },
  ],
  bestPractices: [
    "Amounts are whole numbers in the smallest unit of the currency: cents, not dollars",
    "Use idempotency keys for everything that creates or moves money",
  ],
  webhooks: "https://docs.stripe.com/webhooks",
  idempotencyHeader: "Idempotency-Key",
};

const paystack: Overlay = {
  name: "Paystack",
  hosts: ["api.paystack.co"],
  description: "Payment processing for African markets",
  category: "payments",
  capabilities: [
    "card_payments",
    "one_time_payments",
    "bank_transfers",
    "subscriptions",
    "refunds",
    "marketplace",
  ],
  countries: ["NG", "GH", "ZA", "KE"],
  currencies: ["NGN", "GHS", "ZAR", "KES", "USD"],
  documentation: "https://paystack.com/docs/api",
  envVar: "PAYSTACK_SECRET_KEY",
  commonOperations: [
    "transaction-initialize",
    "transaction-verify",
    "transaction-charge-authorization",
    "customer-create",
    "refund-create",
    "initialize-transaction",
    "verify-transaction",
  ],
  errors: [
    {
      code: "invalid_key",
      meaning: "The API key is not valid.",
      fix: "Check PAYSTACK_SECRET_KEY: it must be the secret key, of the same mode as the transaction.",
    },
    {
      code: "transaction_not_found",
      meaning: "There is no transaction with this reference.",
      fix: "Check the reference, and that PAYSTACK_SECRET_KEY is of the mode it was made in.",
    },
  ],
  bestPractices: [
    "Amounts are whole numbers in the subunit of the currency: kobo, pesewas, cents",
    "Always verify transactions server-side",
    "Use idempotency keys for charges",
  ],
  webhooks: "https://paystack.com/docs/payments/webhooks",
};

const flutterwave: Overlay = {
  name: "Flutterwave",
  hosts: ["api.flutterwave.com"],
  description: "Payments, transfers and bills in Africa and beyond",
  category: "payments",
  capabilities: [
    "card_payments",
    "one_time_payments",
    "mobile_money",
    "bank_transfers",
    "subscriptions",
    "bill_payments",
    "virtual_accounts",
  ],
  countries: ["NG", "GH", "KE", "UG", "TZ", "ZA", "RW", "ZM"],
  currencies: ["NGN", "GHS", "KES", "UGX", "TZS", "ZAR", "RWF", "ZMW", "USD", "EUR", "GBP"],
  documentation: "https://developer.flutterwave.com/docs",
  envVar: "FLW_SECRET_KEY",
  commonOperations: ["create-charge", "get-transactions-id-verify", "create-transfer", "create-plan"],
  bestPractices: [
    "Verify a transaction with its id, amount and currency before anything is delivered for it",
    "Use a tx_ref of its own for every payment",
  ],
};

const shutterstock: Overlay = {
  name: "Shutterstock",
  hosts: ["api.shutterstock.com"],
  description: "Search, licensing and download of images, videos and music",
  category: "media",
  capabilities: ["image_search", "video_search", "audio_search", "licensing", "downloads"],
  documentation: "https://api-reference.shutterstock.com",
  envVar: "SHUTTERSTOCK_API_TOKEN",
  commonOperations: ["search-images", "license-images", "download-image", "search-videos", "search-tracks"],
  bestPractices: ["Licensing counts against a subscription: show what will be licensed before it is"],
};

const ngrok: Overlay = {
  name: "ngrok",
  hosts: ["api.ngrok.com"],
  description: "Endpoints, tunnels, domains and access rules of an ngrok account",
  category: "infrastructure",
  capabilities: ["tunnels", "endpoints", "reserved_domains", "ip_policies", "api_keys"],
  documentation: "https://ngrok.com/docs/api",
  envVar: "NGROK_API_KEY",
  commonOperations: ["endpoints-list", "reserved-domains-list", "tunnel-sessions-list", "api-keys-list"],
  bestPractices: [
    'The API needs the header Ngrok-Version: 2; set it with adapters.ngrok.headers, as { "Ngrok-Version": "2" }',
    "An API key is not an authtoken: the agent uses the one, this API the other",
  ],
};

/** Facts about the adapters that the specification names, under its ids and under short ones. */
export const overlays: Overlays = {
  stripe,
  "stripe-api-2024-04-10": stripe,
  ngrok,
  "ngrok-api": ngrok,
  paystack,
  flutterwave,
  "flutterwave-v3": flutterwave,
  shutterstock,
  "shutterstock-api": shutterstock,
};
