import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachment } from './attachment.ts'

test('a file has the name it is given, without what a header, a shell or a file system would take otherwise', () => {
  for (const [name, clean] of [
    ['gps-cart-1.csv', 'gps-cart-1.csv'],
    ['gps-00:1A:22.csv', 'gps-00_1A_22.csv'],
    ['trips-a"; filename="b.geojson', 'trips-a_filename_b.geojson'],
    ['../../etc/passwd', '__.._etc_passwd'],
    ['x\r\nSet-Cookie: a=b.bin', 'x_Set-Cookie_a_b.bin'],
    ['caf\u00e9 \u{1f6a9}.csv', 'caf_.csv'],
  ] as const)
    assert.equal(attachment(name), `attachment; filename="${clean}"`)
  assert.match(attachment(`${'a'.repeat(1000)}.csv`), /^attachment; filename="a{1,200}\.csv"$/)
})
