import fc from 'fast-check'
import type { OpenApiDocument, Operation } from '#shared/http/openapi.ts'
import { resolveSchema, sampleOf } from '#shared/http/openapi-sample.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'
import {
  BROKEN_BODIES,
  FOREIGN_FIELDS,
  HOSTILE_NUMBERS,
  HOSTILE_TEXTS,
  HOSTILE_VALUES,
  WRONG_CONTENT_TYPES,
} from './hostile-values.ts'

/** Request to be sent unchanged. */
export interface HostileRequest {
  what: string
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
  /** The document forbids it, so the gateway must reject it. */
  isForbidden?: boolean
}

export interface Target {
  method: string
  path: string
  operation: Operation
}

/** Generates invalid requests for operations from the OpenAPI document. */
export class HostileRequests {
  readonly #document: OpenApiDocument
  /** Ids of existing objects, by the first word of a path. */
  readonly #existing: Readonly<Record<string, string>>

  constructor(document: OpenApiDocument, existing: Readonly<Record<string, string>>) {
    this.#document = document
    this.#existing = existing
  }

  /** Every operation of the document. */
  targets(): Target[] {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    )
  }

  /** Each thing that can be wrong with an operation, one at a time. */
  *systematic(target: Target): Generator<HostileRequest> {
    const { method, operation } = target
    const path = this.#pathTo(target)
    const valid = this.#bodyOf(operation)
    const send = (what: string, request: Partial<HostileRequest>): HostileRequest => ({
      what,
      method,
      path,
      ...(valid === undefined ? {} : { body: JSON.stringify(valid) }),
      ...request,
    })
    yield send('as the document shows it', {})
    for (const text of HOSTILE_TEXTS) {
      if (path.includes('%7B') || target.path.includes('{'))
        yield send(`id ${text.slice(0, 20)}`, { path: this.#pathTo(target, encode(text)) })
    }
    for (const { name, in: place, schema } of operation.parameters) {
      if (place === 'path') continue
      for (const text of [...HOSTILE_TEXTS, ...HOSTILE_NUMBERS]) {
        const what = `${place} ${name}=${text.slice(0, 20)}`
        if (place === 'header') {
          if (isHeaderValue(text)) yield send(what, { headers: { [name]: text } })
          continue
        }
        const query = `${encode(name.replace('*', 'x'))}=${encode(text)}`
        yield send(what, { path: `${path}?${query}`, isForbidden: !isAllowed(text, schema) })
      }
      if (place === 'query') {
        const twice = `${encode(name)}=1&${encode(name)}=2`
        yield send(`${name} twice`, { path: `${path}?${twice}` })
      }
    }
    if (valid === undefined) {
      // a GET cannot have one
      if (method !== 'GET') yield send('a body nobody asked for', { body: '{"a":1}' })
      return
    }
    const needsBody = operation.requestBody?.required ?? false
    for (const body of BROKEN_BODIES) {
      const isLegal = body === '' ? !needsBody : Array.isArray(this.#sampleBody(operation)) && body.endsWith('[]')
      yield send(`body ${body.slice(0, 20)}`, { body, isForbidden: !isLegal })
    }
    yield send('a body of a megabyte', { body: `{"a":"${'x'.repeat(1_100_000)}"}`, isForbidden: true })
    for (const type of WRONG_CONTENT_TYPES) {
      yield send(`content type ${type}`, { headers: { 'content-type': type }, isForbidden: true })
    }
    const text = JSON.stringify(valid)
    for (const field of FOREIGN_FIELDS) {
      yield send(`and ${field.slice(0, 20)}`, {
        body: text.replace('{', `{${field}${text === '{}' ? '' : ','}`),
      })
    }
    for (const [body, what] of this.#wrongBodies(valid, this.#schemaOf(operation))) {
      yield send(what, { body: JSON.stringify(body) })
    }
  }

  /** Generates arbitrary requests for an operation, with several faults combined. */
  random(target: Target): fc.Arbitrary<HostileRequest> {
    const { method, operation } = target
    const valid = this.#bodyOf(operation)
    const text = fc.oneof(
      fc.constantFrom(...HOSTILE_TEXTS, ...HOSTILE_NUMBERS, ...Object.values(this.#existing)),
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    )
    const names = operation.parameters.filter((one) => one.in === 'query').map(({ name }) => name)
    const name = fc.oneof(fc.constantFrom('x', 'attr_x', 'attr_', '__proto__', ...names), text)
    const fields = Object.keys(valid ?? {})
    const value = fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.jsonValue({ maxDepth: 4 }))
    const field = fc.oneof(fc.constantFrom('x', '__proto__', 'constructor', ...fields), text)
    const object = fc
      .array(fc.tuple(field, value), { maxLength: 6 })
      .map((entries) => JSON.stringify({ ...valid, ...Object.fromEntries(entries) }))
    return fc
      .record({
        id: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: text }),
        query: fc.array(fc.tuple(name, text), { maxLength: 5 }),
        body: fc.oneof(
          { weight: 5, arbitrary: object },
          { weight: 1, arbitrary: fc.json() },
          { weight: 1, arbitrary: text },
        ),
        hasBody: fc.boolean(),
      })
      .map(({ id, query, body, hasBody }) => {
        const search = query.map(([key, given]) => `${encode(key)}=${encode(given)}`).join('&')
        return {
          what: 'anything',
          method,
          path: `${this.#pathTo(target, id === undefined ? undefined : encode(id))}${search === '' ? '' : `?${search}`}`,
          ...((valid !== undefined || hasBody) && method !== 'GET' ? { body } : {}),
        }
      })
  }

  #pathTo({ path }: Target, id?: string): string {
    const levels = path.split('/')
    return levels
      .map((level, i) => {
        if (!level.startsWith('{')) return level
        return id ?? encode(this.#existing[levels[i - 1] ?? ''] ?? '1')
      })
      .join('/')
  }

  #schemaOf({ requestBody }: Operation): JsonSchema | undefined {
    const schema = requestBody?.content['application/json']?.schema
    return schema && resolveSchema(schema, this.#document.components.schemas)
  }

  #sampleBody(operation: Operation): unknown {
    return sampleOf(this.#schemaOf(operation) ?? {}, this.#document.components.schemas)
  }

  #bodyOf(operation: Operation): Record<string, unknown> | undefined {
    if (operation.requestBody === undefined) return undefined
    const value = this.#sampleBody(operation)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  }

  /** A valid body with one value in it replaced or left out, at every depth. */
  *#wrongBodies(valid: Record<string, unknown>, schema: JsonSchema | undefined): Generator<[unknown, string]> {
    for (const place of placesIn(valid)) {
      const name = place.join('.')
      yield [changed(valid, place), `without ${name}`]
      for (const value of HOSTILE_VALUES) {
        yield [changed(valid, place, value), `${name}: ${JSON.stringify(value)?.slice(0, 20)}`]
      }
    }
    for (const name of Object.keys(schema?.properties ?? {})) {
      for (const value of HOSTILE_VALUES) {
        yield [{ ...valid, [name]: value }, `${name}: ${JSON.stringify(value)?.slice(0, 20)}`]
      }
    }
  }
}

/** True if the document may permit this text for a query parameter; true in doubt. */
function isAllowed(text: string, { type, enum: choices, minimum, maximum }: JsonSchema): boolean {
  if (choices !== undefined) return choices.includes(text)
  if (type !== 'integer') return true
  const value = Number(text)
  return /^\d+$/.test(text) && value >= Number(minimum ?? value) && value <= Number(maximum ?? value)
}

function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/** Encodes even text that is not valid UTF-8, like a careless client. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** Returns the paths of all values in a body, except the body itself; the first item of a list represents all. */
function placesIn(value: unknown): (string | number)[][] {
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.slice(0, 1).map((item, i) => [i, item])
    : typeof value === 'object' && value !== null
      ? Object.entries(value)
      : []
  return entries.flatMap(([key, part]) => [[key], ...placesIn(part).map((place) => [key, ...place])])
}

/** A copy with another value in one place, or with none. */
function changed(body: unknown, place: (string | number)[], value?: unknown): unknown {
  const copy: unknown = structuredClone(body)
  const owner = place.slice(0, -1).reduce<unknown>((part, key) => Reflect.get(Object(part), key), copy)
  const key = place.at(-1)
  if (typeof owner !== 'object' || owner === null || key === undefined) return copy
  if (value === undefined) Reflect.deleteProperty(owner, key)
  else Reflect.set(owner, key, value)
  return copy
}
