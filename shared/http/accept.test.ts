import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedType } from './accept.ts'

const OFFERED = ['application/json', 'text/csv', 'application/x-ndjson', 'application/gpx+xml'] as const
const [JSON_TYPE, CSV, NDJSON, GPX] = OFFERED

for (const [accept, expected] of [
  [undefined, undefined],
  ['', undefined],
  ['text/csv', CSV],
  ['TEXT/CSV', CSV],
  ['application/x-ndjson', NDJSON],
  ['application/gpx+xml', GPX],
  ['application/json', JSON_TYPE],
  ['text/html', undefined],
  ['text/csvx', undefined],
  ['application/gpx', undefined],
  // wildcards
  ['*/*', JSON_TYPE],
  ['text/*', CSV],
  ['application/*', JSON_TYPE],
  ['image/*', undefined],
  ['*/csv', undefined],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', JSON_TYPE],
  ['application/json, text/plain, */*', JSON_TYPE],
  ['text/csv, */*', CSV],
  ['*/*, text/csv', CSV],
  // qualities
  ['text/csv;q=0.5, application/gpx+xml;q=0.6', GPX],
  ['text/csv; q=0.5 , application/json ; q=0.4', CSV],
  ['application/json;q=0.2, */*;q=0.1', JSON_TYPE],
  ['*/*, application/json;q=0.5', CSV],
  ['application/*;q=0.3, text/csv;q=0.2', JSON_TYPE],
  ['application/*, application/json;q=0, application/x-ndjson;q=0.1', GPX],
  ['text/csv;q=0', undefined],
  ['*/*;q=0', undefined],
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
  // what cannot be read says nothing
  ['text/csv;q=2, application/json;q=0.1', JSON_TYPE],
  ['text/csv;q=x', undefined],
  ['text/csv;q=-1', undefined],
  ['text/csv;q=0.5555', undefined],
  ['csv', undefined],
  ['/', undefined],
  [',,;q=1,,text/csv,', CSV],
  ['text/csv/x', undefined],
  ['text / csv', undefined],
] as const) {
  test(`Accept "${accept}" is ${expected}`, () => {
    assert.equal(acceptedType(accept, OFFERED), expected)
  })
}

test('a long header is read in little time', () => {
  for (const piece of [' ', ';', 'q=', 'text/csv;q=', '*/*,', '"', '\t;\t']) {
    acceptedType(piece.repeat(16_384 / piece.length), OFFERED)
  }
})
