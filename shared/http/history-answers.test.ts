import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hono } from 'hono'
import { acceptedFormat } from './history-answers.ts'

const OFFERED = ['json', 'csv', 'ndjson', 'gpx'] as const
const [JSON_TYPE, CSV, NDJSON, GPX] = OFFERED

const app = new Hono().get('/', (c) => c.text(acceptedFormat(c, OFFERED)))

async function formatFor(accept: string | undefined): Promise<string> {
  const response = await app.request('/', { headers: accept === undefined ? {} : { accept } })
  return response.text()
}

for (const [accept, expected] of [
  [undefined, JSON_TYPE],
  ['', JSON_TYPE],
  ['text/csv', CSV],
  ['TEXT/CSV', CSV],
  ['application/x-ndjson', NDJSON],
  ['application/gpx+xml', GPX],
  ['application/json', JSON_TYPE],
  ['text/html', JSON_TYPE],
  ['text/csvx', JSON_TYPE],
  ['application/gpx', JSON_TYPE],
  // wildcards
  ['*/*', JSON_TYPE],
  ['text/*', CSV],
  ['application/*', JSON_TYPE],
  ['image/*', JSON_TYPE],
  ['*/csv', JSON_TYPE],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', JSON_TYPE],
  ['application/json, text/plain, */*', JSON_TYPE],
  ['text/csv, */*', CSV],
  ['*/*, text/csv', CSV],
  // qualities
  ['text/csv;q=0.5, application/gpx+xml;q=0.6', GPX],
  ['text/csv; q=0.5 , application/json ; q=0.4', CSV],
  ['application/json;q=0.2, */*;q=0.1', JSON_TYPE],
  // a wildcard over all types names none: JSON is acceptable, though another type would be more so
  ['*/*, application/json;q=0.5', JSON_TYPE],
  ['application/*;q=0.3, text/csv;q=0.2', JSON_TYPE],
  ['application/*, application/json;q=0, application/x-ndjson;q=0.1', GPX],
  ['text/csv;q=0', JSON_TYPE],
  ['*/*;q=0', JSON_TYPE],
  ['text/csv;q=0, */*;q=0.1', JSON_TYPE],
  ['text/csv;q=0.000, application/x-ndjson;q=0.001', NDJSON],
  ['text/csv;q=1.000', CSV],
  // named first
  ['text/csv, application/json', CSV],
  ['application/json, text/csv', JSON_TYPE],
  ['application/gpx+xml, text/csv', GPX],
  // parameters
  ['text/csv; header=present; charset=utf-8', CSV],
  ['text/csv;header=present;Q=0.1, application/json;q=0.2', JSON_TYPE],
  // a quality out of range is the nearest one, one that cannot be read is 1
  ['text/csv;q=2, application/json;q=0.1', CSV],
  ['text/csv;q=x', CSV],
  ['text/csv;q=-1', JSON_TYPE],
  ['text/csv;q=0.5555', CSV],
  // unreadable values are ignored
  ['csv', JSON_TYPE],
  ['/', JSON_TYPE],
  [',,;q=1,,text/csv,', CSV],
  ['text/csv/x', JSON_TYPE],
  ['text / csv', JSON_TYPE],
] as const) {
  test(`Accept "${accept}" is ${expected}`, async () => {
    assert.equal(await formatFor(accept), expected)
  })
}

test('a long header is read in little time', async () => {
  for (const piece of [' ', ';', 'q=', 'text/csv;q=', '*/*,', '"', '\t;\t']) {
    await formatFor(piece.repeat(16_384 / piece.length))
  }
})
