import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { UsageError } from './command.ts'
import { requireKey } from './gateway-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-options-'))
after(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'key.txt'), 'from-file\n')
writeFileSync(join(folder, 'empty.txt'), '\n')

const keyOf = (
  given: { key?: string; keyFile?: string },
  env: Record<string, string> = { CARTBARN_API_KEY: 'from-env' },
) => requireKey(given, { env, folder })

test('a key comes from the command line, a file or the environment', () => {
  assert.equal(keyOf({ key: 'typed' }), 'typed')
  assert.equal(keyOf({ keyFile: 'key.txt' }), 'from-file')
  assert.equal(keyOf({}), 'from-env')
})

for (const [given, message] of [
  [{}, /^an API key is needed: --key, --key-file or CARTBARN_API_KEY$/],
  [{ key: 'typed', keyFile: 'key.txt' }, /^either --key or --key-file is needed, not both$/],
  [{ keyFile: 'nowhere.txt' }, /^--key-file: cannot be read: ENOENT/],
  [{ keyFile: 'empty.txt' }, /^--key-file: the file .*empty\.txt is empty$/],
] as const) {
  test(`${JSON.stringify(given)} is rejected`, () => {
    assert.throws(
      () => keyOf(given, {}),
      (error) => error instanceof UsageError && message.test(error.message),
    )
  })
}

for (const former of ['CARTBARN_ADMIN_API_KEY', 'CARTBARN_HUB_API_KEY', 'CARTBARN_HUB_ADMIN_API_KEY']) {
  test(`a key in ${former} alone is not accepted, and the error explains where it belongs`, () => {
    assert.throws(
      () => keyOf({}, { [former]: 'key' }),
      (error) =>
        error instanceof UsageError && error.message.endsWith(`or CARTBARN_API_KEY (commands do not read ${former})`),
    )
    assert.equal(keyOf({}, { [former]: 'key', CARTBARN_API_KEY: 'right' }), 'right')
  })
}
