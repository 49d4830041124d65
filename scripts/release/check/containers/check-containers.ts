import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '#shared/testing/eventually.ts'
import { readCompose, type Service } from './compose.ts'
import { Container, Volume } from './container.ts'
import { canRunImages, Image } from './image.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
/** Folder written by `npm run build:release`. */
const RELEASE = 'dist/release/linux-x64'
const KEY = 'of-the-containers-0123456789'
const NEEDED = { HEAD_OFFICE_NAME: 'golf.example', CARTBARN_HUB_ADMIN_API_KEY: KEY, POSTGRES_PASSWORD: 'x' }
/** Settings of a hub on its embedded database, since there is no PostgreSQL here, and with a key that it creates. */
const EMBEDDED = { CARTBARN_HUB_DATABASE_URL: '', CARTBARN_HUB_ADMIN_API_KEY: '' }

/** Resources of a step: its own volume, and any number of containers with it, started in sequence. */
interface Trial {
  image: Image
  volume: Volume
  run: (env?: Record<string, string>, words?: string[]) => Container
}

type Step = (trial: Trial) => Promise<void>

const file = ({ path }: Volume, name: string) => readFileSync(join(path, name), 'utf8')

const GATEWAY: Record<string, Step> = {
  'without privileges and on a root that cannot be written it starts and is well; its log has no secret': async ({
    image,
    volume,
    run,
  }) => {
    const gateway = run()
    await gateway.listens()
    const { out } = await gateway.exec(['cat', '/proc/1/status'])
    for (const line of [/^Uid:\t1000\t1000/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m, /^NoNewPrivs:\t1$/m])
      assert.match(out, line)
    assert.match((await gateway.exec(['touch', '/other'], '0:0')).out, /Read-only file system/)
    const [kind, ...check] = image.config.Healthcheck.Test
    assert.deepEqual([kind, await gateway.exec(check)], ['CMD', { code: 0, out: 'ok\n' }])
    const [key = '', code = ''] = file(volume, 'admin-key.txt').trim().split('\n')
    assert.match(code, /^setup code: \S+$/)
    assert.match(gateway.log, /\/data\/admin-key\.txt/)
    assert.ok(!gateway.log.includes(key) && !gateway.log.includes(code.replace('setup code: ', '')))
  },
  'SIGTERM ends it in order, a wrong setting with 78 and in words': async ({ run }) => {
    const gateway = run()
    await gateway.listens()
    gateway.signal('TERM')
    assert.equal(await gateway.ended(), 0)
    assert.match(gateway.log, /"msg":"stopped"/)
    const wrong = run({ CARTBARN_HTTP_PROT: '1' })
    assert.equal(await wrong.ended(), 78)
    assert.match(wrong.log, /CARTBARN_HTTP_PROT/)
  },
  'every command is in it': async ({ run }) => {
    const all = run({}, ['--help'])
    assert.equal(await all.ended(), 0)
    const [, commands = ''] = all.log.split('Commands:')
    const names = [...commands.matchAll(/^ {2}([a-z][\w-]+) /gm)].map(([, name = '']) => name)
    assert.ok(
      ['hub', 'doctor', 'upgrade', 'simulate'].every((one) => names.includes(one)),
      all.log,
    )
    const gateway = run()
    await gateway.listens()
    for (const name of names.filter((one) => one !== 'version')) {
      const { code, out } = await gateway.exec(['cartbarn', name, '--help'])
      assert.deepEqual([code, out.startsWith('Usage: ')], [0, true], `${name}: ${out}`)
    }
  },
  'what it has acknowledged is there after kill -9': async ({ volume, run }) => {
    const names = ['cart-1', 'cart-2', 'cart-3']
    const start = async () => {
      const gateway = run({ CARTBARN_ADMIN_API_KEY: KEY })
      await gateway.listens()
      return gateway
    }
    for (const name of names) {
      const gateway = await start()
      const list = `hardware_id,device_type\n${name},teebox\n`
      writeFileSync(join(volume.path, 'carts.csv'), list, { mode: 0o644 })
      const add = ['devices', 'add', '/data/carts.csv', '--yes', '--credentials', `/data/${name}.csv`]
      const added = await gateway.exec(['env', `CARTBARN_API_KEY=${KEY}`, 'cartbarn', ...add])
      gateway.signal('KILL')
      assert.equal(added.code, 0, added.out)
      assert.notEqual(await gateway.ended(), 0)
    }
    const kept = await (await start()).get('/devices', 8080, KEY)
    for (const name of names) assert.ok(kept.includes(`"${name}"`), kept)
  },
  'admin-key creates a new key while the gateway is stopped, and refuses while it runs': async ({ volume, run }) => {
    const gateway = run({ CARTBARN_ADMIN_API_KEY: KEY })
    await gateway.listens()
    const running = await gateway.exec(['cartbarn', 'admin-key'])
    assert.match(running.out, /^admin-key: another cartbarn is using the data folder .*\n$/)
    const asRoot = await gateway.exec(['cartbarn', 'admin-key'], '0:0')
    assert.match(asRoot.out, /^admin-key: this root may not act as the owner of \/data .* as user 1000\n$/)
    assert.deepEqual([running.code, asRoot.code], [1, 1])
    gateway.signal('TERM')
    await gateway.ended()
    const replacing = run({}, ['admin-key'])
    assert.equal(await replacing.ended(), 0, replacing.log)
    const key = file(volume, 'admin-key.txt').split('\n')[0] ?? ''
    const again = run()
    await again.listens()
    assert.match(await again.get('/devices', 8080, KEY), /^HTTP\/1\.1 401/)
    assert.match(await again.get('/devices', 8080, key), /^HTTP\/1\.1 200/)
  },
  'a demo drives its carts and ends with 0, twice': async ({ run }) => {
    for (let i = 0; i < 2; i++) {
      const demo = run({}, ['demo'])
      await demo.listens()
      await eventually(() => /\d+\/\d+ devices connected/.test(demo.log), 'carts that drive', 120_000)
      demo.signal('TERM')
      assert.equal(await demo.ended(), 0, demo.log)
      assert.doesNotMatch(demo.log, /"level":"error"|^\s+at /m)
    }
  },
}

const HUB: Record<string, Step> = {
  'a head office starts, is well, takes a site, and has it after kill -9': async ({ run }) => {
    const hub = run(EMBEDDED)
    await hub.listens()
    const added = await hub.exec(['cartbarn', 'hub', 'site', 'add', 'Old Course'])
    assert.equal(added.code, 0, added.out)
    hub.signal('KILL')
    await hub.ended()
    const again = run(EMBEDDED)
    await again.listens()
    assert.match((await again.exec(['cartbarn', 'hub', 'site', 'list'])).out, /Old Course/)
    const [, ...check] = HEAD_OFFICE.healthcheck?.test ?? []
    assert.deepEqual(await again.exec(check), { code: 0, out: 'ok\n' })
    again.signal('TERM')
    assert.equal(await again.ended(), 0)
  },
  'its admin-key makes another key while it runs': async ({ volume, run }) => {
    const hub = run(EMBEDDED)
    await hub.listens()
    const before = file(volume, 'hub/admin-key.txt').trim()
    assert.ok(!hub.log.includes(before))
    const replaced = await hub.exec(['cartbarn', 'hub', 'admin-key'])
    assert.equal(replaced.code, 0, replaced.out)
    const key = file(volume, 'hub/admin-key.txt').trim()
    assert.match(await hub.get('/sites', 8090, before), /^HTTP\/1\.1 401/)
    assert.match(await hub.get('/sites', 8090, key), /^HTTP\/1\.1 200/)
  },
}

const COURSE = serviceOf('compose.yaml', 'gateway')
const HEAD_OFFICE = serviceOf('docs/head-office/compose.yaml', 'hub')

function serviceOf(path: string, name: string): Service {
  const service = readCompose(join(ROOT, path), NEEDED).services[name]
  if (service === undefined) throw new Error(`${path} has no ${name}`)
  return service
}

/**
 * Builds images on a Debian, given as a tar archive, and runs their containers according to the compose files, if this
 * machine can: that of the gateway from a bare clone, that of the hub with the executable of `dist/release`, if there
 * is one. Returns the number of failed steps.
 */
export async function checkContainers(debian: () => string): Promise<number> {
  if (!canRunImages()) {
    console.log('containers: not tried without buildah and crun')
    return 0
  }
  const clone = mkdtempSync(join(tmpdir(), 'cartbarn-clone-'))
  try {
    execFileSync('git', ['clone', '--quiet', ROOT, clone])
    console.log('containers of the gateway, built in a bare clone')
    const failures = await runAll(new Image(clone, debian()), COURSE, GATEWAY)
    console.log('containers of the hub, with the executable of a release')
    if (existsSync(join(ROOT, RELEASE)))
      return failures + (await runAll(new Image(ROOT, debian(), RELEASE), HEAD_OFFICE, HUB))
    console.log('  not tried without a release: npm run build:release')
    return failures
  } finally {
    rmSync(clone, { recursive: true, force: true })
  }
}

async function runAll(image: Image, service: Service, steps: Readonly<Record<string, Step>>): Promise<number> {
  try {
    return await runSteps(image, service, steps)
  } finally {
    image.remove()
  }
}

async function runSteps(image: Image, service: Service, steps: Readonly<Record<string, Step>>): Promise<number> {
  let failures = 0
  for (const [name, step] of Object.entries(steps)) {
    const volume = new Volume(image)
    const containers: Container[] = []
    const run = (env: Record<string, string> = {}, words?: string[]) => {
      const container = new Container(image, service, volume, env, words)
      containers.push(container)
      return container
    }
    try {
      await step({ image, volume, run })
      console.log(`  ok    ${name}`)
    } catch (error) {
      failures++
      console.log(`  FAIL  ${name}\n${error instanceof Error ? error.message : error}`)
    } finally {
      for (const container of containers) await container.remove()
      volume.remove()
    }
  }
  return failures
}
