import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachment } from './attachment.ts'

test('a file has the name it is given, without what a header, a shell or a file system would take otherwise', () => {
  for (const [name, clean] of [
    ['gps-cart-1.csv', 'gps-cart-1.csv'],
    ['gps-00:1A:22.csv', 'gps-00=1A=22.csv'],
    ['trips-a"; filename="b.geojson', 'trips-a-filename=-b.geojson'],
    ['../../etc/passwd', '--..-etc-passwd'],
    ['x\r\nSet-Cookie: a=b.bin', 'x-Set-Cookie=-a=b.bin'],
    ['caf\u00e9 \u{1f6a9}.csv', 'caf-.csv'],
  ] as const)
    assert.equal(attachment(name), `attachment; filename="${clean}"`)
  assert.match(attachment(`${'a'.repeat(1000)}.csv`), /^attachment; filename="a{1,200}\.csv"$/)
})
