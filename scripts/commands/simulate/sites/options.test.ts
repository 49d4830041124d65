import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { UsageError } from '#scripts/cli/command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { simulate } from '../simulate.ts'
import { isAboutSites, parseSitesOptions } from './options.ts'

const io = { env: { CARTBARN_API_KEY: 'from-environment' }, folder: '.', stdout: process.stdout }

test('--sites in either form selects sites of a hub', () => {
  assert.ok(isAboutSites(['--sites', '3']))
  assert.ok(isAboutSites(['--hub', 'http://x', '--sites=3']))
  assert.ok(!isAboutSites(['--carts', '3']))
})

test('the defaults replicate to a hub on this host', () => {
  assert.deepEqual(parseSitesOptions(['--sites', '3'], io), {
    hubUrl: 'http://127.0.0.1:8090',
    access: { adminKey: 'from-environment' },
    sites: 3,
    devices: 20,
    intervalS: 8,
    durationS: undefined,
    seed: 1,
    prefix: 'sim',
    sockets: 64,
    isInsecureAllowed: false,
  })
})

test('a file of keys takes precedence over the key of an admin', () => {
  const options = parseSitesOptions(['--sites', '3', '--keys-file', 'keys.txt'], io)
  assert.deepEqual(options.access, { keysFile: 'keys.txt' })
})

test('--help prints every option', async () => {
  const folder = new CommandFolder()
  after(() => folder.remove())
  const { code, out } = await folder.run(simulate, ['--sites', '1', '--help'])
  assert.equal(code, 0)
  for (const name of ['sites', 'hub', 'key', 'keys-file', 'devices', 'interval', 'duration', 'seed']) {
    assert.match(out, new RegExp(`--${name} `))
  }
})

for (const [what, argv, message] of [
  ['no number of sites', ['--sites', 'many'], /--sites .* must be a whole number from 1 to 2000/],
  ['no address', ['--sites', '1', '--hub', 'hub.example.com'], /--hub .* must be an address/],
  ['a prefix that no site id has', ['--sites', '1', '--prefix', 'North'], /--prefix .* must be/],
  ['an option that is none', ['--sites', '1', '--carts', '3'], /--carts/],
] as const) {
  test(`${what} is rejected with an explanation`, () => {
    assert.throws(
      () => parseSitesOptions(argv, io),
      (error) => error instanceof UsageError && message.test(error.message),
    )
  })
}

test('without any key the error lists the required ones', () => {
  assert.throws(() => parseSitesOptions(['--sites', '1'], { ...io, env: {} }), /--key/)
})
