import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chaptersOf, endpointFaults } from '#shared/testing/endpoint-rules.ts'
import { scene } from '#testing/scene.ts'
import { TAGS } from './tags.ts'

const { g } = scene()
const VERBS: Record<string, string> = { post: 'POST', put: 'PUT', patch: 'PATCH', remove: 'DELETE' }

test('every endpoint has a scenario test, a line in the pages of the API, and the chapter of its noun', async () => {
  const { body: document } = await g.get('/openapi.json')
  const folder = new URL('./', import.meta.url)
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.test.ts'))
  // short requests as the rules know them
  const tests = files.map((file) =>
    readFileSync(new URL(file, folder), 'utf8').replace(
      /\.(post|put|patch|remove)\(/g,
      (_, verb) => `.request('${VERBS[verb]}', `,
    ),
  )
  const page = ['api.md', 'api-course.md'].map((name) => chaptersOf(new URL(`../../docs/${name}`, folder))).join('\n\n')
  assert.deepEqual(endpointFaults({ document, tags: TAGS, tests, page }), [])
})
