import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRoute } from '@hono/zod-openapi'
import { z } from 'zod'
import { createApiOf, type RequestEnv } from '#shared/http/api-env.ts'
import { createOpenApiDocument, type OpenApiDocument } from '#shared/http/openapi.ts'
import { json, problems } from '#shared/http/responses.ts'
import { endpointFaults } from './endpoint-rules.ts'

const tags = { order: [], rules: [{ name: 'Rounds', description: 'Rounds of golf.', nouns: ['rounds'] }] }

/** The document of an API with these endpoints, which need no key. */
function documentOf(...endpoints: [method: 'get' | 'post', path: string][]): OpenApiDocument {
  const api = createApiOf<RequestEnv>()
  for (const [method, path] of endpoints) {
    const responses = { 200: json(z.object({}), 'Good.'), ...problems() }
    api.openapi(createRoute({ method, path, summary: `${method} it`, responses }), (c) => c.json({}, 200))
  }
  const about = { title: '', description: '', server: 'It', tags, errorCodes: {} }
  return createOpenApiDocument(api, { withKey: () => undefined, roles: {} }, about)
}

const ROW = '| `GET /rounds/{id}` | none | get it |'
const PAGE = `### Rounds\n\nRounds of golf.\n\n| endpoint | key | what it does |\n|---|---|---|\n${ROW}`
const document = documentOf(['get', '/rounds/{id}'])

for (const call of [
  "await g.request('GET', '/rounds/7?x=1')",
  `await g.request('GET', \`/rounds/\${id}\`, { key })`,
  "['good', 'GET', '/rounds/7', 200],",
  "await get('/rounds/7')",
  `const path = \`/rounds/\${id}\`\n await get(path)`,
  `const all = '/rounds'\n await g.request('GET', \`\${all}/7\`)`,
  `const all = '/rounds'; const one = \`\${all}/7\`\n await g.request('GET', one)`,
]) {
  test(`an endpoint is tested by ${call}`, () => {
    assert.deepEqual(endpointFaults({ document, tags, tests: ['', call], page: PAGE }), [])
  })
}

test('a path followed by its method also counts as a call', () => {
  const page = PAGE.replaceAll('GET', 'POST').replace('get it', 'post it').replace('/{id}', '')
  const calls = ["app.request('/rounds', {\n  method: 'POST' })"]
  const posted = documentOf(['post', '/rounds'])
  assert.deepEqual(endpointFaults({ document: posted, tags, tests: calls, page }), [])
  assert.equal(endpointFaults({ document: posted, tags, tests: ["get('/rounds')"], page }).length, 1)
})

test('an endpoint without a test, a chapter or a line gets a fault for each', () => {
  const more = documentOf(['get', '/rounds/{id}'], ['post', '/rounds'], ['get', '/weather'])
  const tests = ["await g.request('GET', '/rounds/7'); await g.request('DELETE', '/rounds')"]
  const weather = { name: 'System', description: 'The rest.', nouns: [] }
  assert.deepEqual(
    endpointFaults({ document: more, tags: { ...tags, rules: [...tags.rules, weather] }, tests, page: PAGE }),
    [
      "no scenario test calls 'POST', '/rounds'",
      "no scenario test calls 'GET', '/weather'",
      'no chapter in api/tags.ts has a noun of /weather',
      'docs/api*.md lacks in the chapter Rounds: | `POST /rounds` | none | post it |',
    ],
  )
})

test('a line that is in the wrong chapter, or of no endpoint, is reported', () => {
  const tests = ["await g.request('GET', '/rounds/7')"]
  const faultsOf = (page: string) => endpointFaults({ document, tags, tests, page })
  assert.deepEqual(faultsOf(PAGE.replace('### Rounds', '### Games')), [
    `docs/api*.md lacks in the chapter Rounds: ${ROW}`,
    `docs/api*.md is wrong in the chapter Games: ${ROW}`,
  ])
  assert.deepEqual(faultsOf(`${PAGE}\n${ROW.replace('GET', 'PUT')}`), [
    'docs/api*.md is wrong in the chapter Rounds: | `PUT /rounds/{id}` | none | get it |',
  ])
  assert.deepEqual(faultsOf(PAGE.replace('of golf', '')), [`docs/api*.md must read\n${PAGE}`])
})
