import assert from 'node:assert/strict'
import { z } from 'zod'
import type { ApiResponse, OpenApiDocument, Operation } from '#shared/http/openapi.ts'
import { findOperation } from '#shared/http/openapi-paths.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'

interface GivenAnswer {
  status: number
  headers: Headers
  body: unknown
}

/** Statuses of responses without an operation: unknown paths, wrong methods, no key, CORS. */
const WITHOUT_OPERATION = [204, 400, 401, 404, 405, 429]

/** Checks every response against the OpenAPI document: status, headers, content type, and the exact body. */
export class DocumentedAnswers {
  readonly #document: OpenApiDocument
  /** All referenced schemas, closed. */
  readonly #$defs: JsonSchema
  /** Validators by the schemas of the document. */
  readonly #checks = new Map<JsonSchema, z.ZodType>()

  constructor(document: OpenApiDocument) {
    this.#document = document
    this.#$defs = closed(document.components.schemas)
  }

  /** Returns the operation of a request, like the router. */
  operationOf(method: string, path: string): Operation | undefined {
    return findOperation(this.#document, method, path)
  }

  /** Throws if the document does not permit this response. */
  check(method: string, path: string, answer: GivenAnswer): void {
    const operation = this.operationOf(method, path)
    const place = `${method} ${path} ${answer.status}`
    if (operation === undefined) {
      assert.ok(WITHOUT_OPERATION.includes(answer.status), `${place}: there is no such operation`)
      if (answer.status >= 400)
        this.#checkBody(this.#resolve('#/components/responses/Unexpected'), answer, place, method)
      return
    }
    const response =
      operation.responses[answer.status] ?? (answer.status === 500 ? operation.responses.default : undefined)
    assert.ok(response !== undefined, `${place} is not documented for ${operation.operationId}`)
    this.#checkBody('$ref' in response ? this.#resolve(response.$ref) : response, answer, place, method)
  }

  #checkBody(response: ApiResponse, { status, headers, body }: GivenAnswer, place: string, method: string): void {
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      const { required, schema } =
        '$ref' in header
          ? this.#resolve<typeof header & { required: boolean; schema: JsonSchema }>(header.$ref)
          : header
      const value = headers.get(name)
      assert.ok(value !== null || !required, `${place} has no header ${name}`)
      if (value !== null)
        this.#checkValue(schema.type === 'integer' ? Number(value) : value, schema, `${place} header ${name}`)
    }
    if (response.content === undefined) {
      assert.equal(body, '', `${place} is documented without a body`)
      return
    }
    const type = (headers.get('content-type') ?? '').split(';')[0]
    const [, content] = Object.entries(response.content).find(([one]) => one.split(';')[0] === type) ?? []
    assert.ok(content !== undefined, `${place} is not documented as ${type}`)
    if (method === 'HEAD' || content.schema === undefined) return
    this.#checkValue(body, content.schema, place)
    if (status < 400 || typeof body !== 'object' || body === null || !('code' in body)) return
    const known = this.#document['x-error-codes'][String(body.code)]
    assert.ok(known !== undefined, `${place}: ${body.code} is not in x-error-codes`)
    const statuses = [known.status, known.otherStatus]
    assert.ok(statuses.includes(status), `${place}: the status of ${body.code} in the document`)
  }

  #checkValue(value: unknown, schema: JsonSchema, place: string): void {
    let check = this.#checks.get(schema)
    if (check === undefined) {
      const whole = { ...closed(schema), $defs: this.#$defs }
      check = z.fromJSONSchema(whole as Parameters<typeof z.fromJSONSchema>[0])
      this.#checks.set(schema, check)
    }
    const result = check.safeParse(value)
    if (!result.success) assert.fail(`${place} is not as documented: ${z.prettifyError(result.error)}`)
  }

  #resolve<Component = ApiResponse>(ref: string): Component {
    const found = ref
      .slice(2)
      .split('/')
      .reduce<unknown>((value, key) => Reflect.get(Object(value), key), this.#document)
    assert.ok(found !== undefined, `${ref} is nowhere`)
    // a reference always points to a component of the kind expected there
    return found as Component
  }
}

/** Closes a schema to unnamed fields: a response must not have undocumented ones. */
function closed(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    if (key === '$ref' && typeof value === 'string') return value.replace('#/components/schemas/', '#/$defs/')
    if (!isObjectSchema(value)) return value
    return 'additionalProperties' in value ? value : { ...value, additionalProperties: false }
  })
}

function isObjectSchema(value: unknown): value is JsonSchema {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'object' &&
    'properties' in value &&
    typeof value.properties === 'object'
  )
}
