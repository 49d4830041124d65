import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { ADMIN_KEY } from '#hub/testing/people.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { maskCode } from '#shared/masked-codes.ts'

const CODES = ['04A1B2C3', '14A1B2C3', '0815', 'C3', '7', '%_\\\\', 'a_%', 'b%_', 'xy%%', '\u{1f6a9}ab', 'x\u{1f6a9}b']

for (const kind of LONG_SUITE_KINDS) {
  describe(`a user with masked codes at a hub on ${kind.name}`, { skip: kind.skip }, () => {
    const { people, site } = siteScene(kind)
    before(async () => {
      const events = [...CODES, null].map((code, i) =>
        sentLockEvent(i + 1, { event: 'unlock', at_ms: i, source: code === null ? 'key' : 'rfid', code }),
      )
      await site.pushRows('lock_events', events)
    })

    const codes = async (key: string, query = '') => {
      const { status, body } = await people.request('GET', `${site.path}/lock-events${query}`, { key })
      assert.equal(status, 200)
      return body.events.map(({ code }: { code?: string }) => code).reverse()
    }
    const newUser = (role: 'viewer' | 'operator' | 'admin') =>
      people.createUser({ role, site_ids: null, mask_codes: true })

    test('sees the last two characters of codes of more than two; an admin sees all', async () => {
      const shown = [...CODES.map(maskCode), undefined]
      assert.equal(shown[0], '******C3')
      for (const role of ['viewer', 'operator'] as const)
        assert.deepEqual(await codes((await newUser(role)).key), shown, role)
      for (const key of [ADMIN_KEY, (await newUser('admin')).key])
        assert.deepEqual(await codes(key), [...CODES, undefined])
    })

    test('finds codes by what it sees, and cannot try out codes', async () => {
      const { key } = await newUser('viewer')
      const found = (code: string) => codes(key, `?code=${encodeURIComponent(code)}`)
      for (const shown of new Set(CODES.map(maskCode))) {
        const same = CODES.map(maskCode).filter((code) => code === shown)
        assert.deepEqual(await found(shown), same, shown)
      }
      for (const guess of ['04A1B2C3', 'C3', '7', '0815', '*******C3', '', '%', '______C3'])
        assert.deepEqual(await found(guess), [], guess)
      assert.deepEqual(await codes(ADMIN_KEY, '?code=04A1B2C3'), ['04A1B2C3'])
    })

    test('is one from the moment it was set, and is not by default', async () => {
      const { userId, key } = await people.createUser({ site_ids: [site.siteId] })
      const path = `/users/${userId}`
      const patch = async (body: object) => (await people.request('PATCH', path, { body })).body
      assert.equal((await people.get(path)).mask_codes, false)
      assert.deepEqual(await codes(key, '?limit=2'), ['x\u{1f6a9}b', undefined])
      assert.equal((await patch({ mask_codes: true })).mask_codes, true)
      assert.deepEqual(await codes(key, '?limit=2'), ['*\u{1f6a9}b', undefined])
      assert.equal((await patch({ name: 'Other' })).mask_codes, true)
      assert.equal((await patch({ mask_codes: false })).mask_codes, false)
      assert.deepEqual(await codes(key, '?limit=2'), ['x\u{1f6a9}b', undefined])
      assert.equal((await people.request('PATCH', path, { body: { mask_codes: null } })).status, 400)
    })
  })
}
