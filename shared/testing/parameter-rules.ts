import assert from 'node:assert/strict'
import type { OpenApiDocument } from '#shared/http/openapi.ts'

interface ParameterAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
}

type Ask = (method: string, path: string) => Promise<ParameterAnswer>

/**
 * Passes two values for each single-valued query parameter, which must cause a specific error; `ids` fill the
 * parameters of paths. Uses only methods that change nothing. Returns the number of parameters.
 */
export async function checkRepeated(
  document: OpenApiDocument,
  ask: Ask,
  ids: Readonly<Record<string, string>>,
): Promise<number> {
  let count = 0
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (get === undefined) continue
    const filled = path.replaceAll(/\{(.+?)\}/g, (_, name: string) => ids[name] ?? assert.fail(name))
    for (const { name, schema, in: place } of get.parameters) {
      if (place !== 'query' || schema.type === 'array' || schema.type === 'object') continue
      const { status, body } = await ask('GET', `${filled}?${name}=1&${name}=2`)
      assert.equal(status, 400, `${path} ${name}`)
      const errors: { name: string; detail: string }[] = body.errors
      const found = errors.find((error) => error.name === name)
      assert.equal(found?.detail, 'must be given only once', `${path} ${name}: ${JSON.stringify(body)}`)
      count += 1
    }
  }
  return count
}
