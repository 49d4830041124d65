import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { chaptersOf, endpointFaults } from '#shared/testing/endpoint-rules.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { TAGS } from './tags.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})

after(() => gateway.stop())

test('every endpoint has a scenario test, a line in the pages of the API, and the chapter of its noun', async () => {
  const { body: document } = await gateway.request('GET', '/openapi.json')
  const folder = new URL('./', import.meta.url)
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.test.ts'))
  const tests = files.map((file) => readFileSync(new URL(file, folder), 'utf8'))
  const page = ['api.md', 'api-course.md'].map((name) => chaptersOf(new URL(`../../docs/${name}`, folder))).join('\n\n')
  assert.deepEqual(endpointFaults({ document, tags: TAGS, tests, page }), [])
})
