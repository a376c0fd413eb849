import type { BodyKind } from "./body.ts";
import type { Parameter, Writing } from "./parameters.ts";
import type { Alternative } from "./security.ts";

/** An argument that is a parameter. */
export interface PlannedParameter extends Writing {
  /** What callers call it. */
  readonly argument: string;
  /** What the API calls it. */
  readonly name: string;
  readonly place: Parameter["place"];
}

/** An argument that is a property of the body. */
export interface PlannedField {
  readonly argument: string;
  readonly name: string;
  readonly writing?: Writing | undefined;
  readonly contentType?: string | undefined;
  readonly isFile: boolean;
}

/** How arguments become the body of a request. */
export interface PlannedBody {
  readonly kind: BodyKind;
  readonly contentType: string;
  readonly required: boolean;
  readonly fields?: readonly PlannedField[] | undefined;
  /** The argument whose properties are added to those of the fields. */
  readonly others?: string | undefined;
  /** The argument that is the body as a whole, where there are no fields. */
  readonly whole?: string | undefined;
  readonly isFile: boolean;
}

/** How arguments become a request: the way back from the names that callers use to those of the API. */
export interface Plan {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly PlannedParameter[];
  readonly body?: PlannedBody | undefined;
  /** Where it is sent: an address, which may lack its beginning and hold variables in braces. */
  readonly server: string;
  /** What the variables of the address are where nobody says otherwise. */
  readonly serverVariables: Readonly<Record<string, string>>;
  /** The ways to prove who sends it; undefined where the document says nothing of that. */
  readonly security: readonly Alternative[] | undefined;
  readonly idempotencyHeader?: string | undefined;
  /** The media types that the document says are answered. */
  readonly accept: string;
}
