import type { BodyKind } from "./body.ts";
import type { OperationParameter, ParameterEncoding } from "./parameters.ts";
import type { Alternative } from "./security.ts";

/** An argument that is a parameter. */
export interface PlannedParameter extends ParameterEncoding {
  /** Name of the argument. */
  readonly argument: string;
  /** Name in the API. */
  readonly name: string;
  readonly place: OperationParameter["place"];
}

/** An argument that is a property of the body. */
export interface PlannedField {
  readonly argument: string;
  readonly name: string;
  readonly writing?: ParameterEncoding | undefined;
  readonly contentType?: string | undefined;
  readonly isFile: boolean;
}

/** Mapping of arguments to the body of a request. */
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

/** Mapping of arguments to a request, with the names of the API. */
export interface Plan {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly PlannedParameter[];
  readonly body?: PlannedBody | undefined;
  /** URL of the server, which may be relative and hold variables in braces. */
  readonly server: string;
  /** Default values of the variables in the address. */
  readonly serverVariables: Readonly<Record<string, string>>;
  /** The ways to prove who sends it; undefined where the document says nothing of that. */
  readonly security: readonly Alternative[] | undefined;
  readonly idempotencyHeader?: string | undefined;
  /** The media types that the document says are answered. */
  readonly accept: string;
}
