import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readConfig } from '#gateway/config.ts'
import { readHubConfig } from '#hub/config.ts'
import { type Compose, readCompose } from './compose.ts'

const ROOT = new URL('../../../../', import.meta.url)
const VARIABLES = {
  HEAD_OFFICE_NAME: 'golf.example',
  CARTBARN_HUB_ADMIN_API_KEY: 'a1b7c3d9e5f20864acbd1357f9e8',
  POSTGRES_PASSWORD: 'of-the-database',
}

function read(path: string, variables: Record<string, string> = VARIABLES): Compose {
  return readCompose(fileURLToPath(new URL(path, ROOT)), variables)
}

const COURSE = read('compose.yaml')
const HEAD_OFFICE = read('docs/head-office/compose.yaml')

test('containers of the image, and what stands before them, have no privileges and a read-only root', () => {
  const { hub, proxy } = HEAD_OFFICE.services
  for (const service of [COURSE.services.gateway, hub, proxy]) {
    assert.ok(service !== undefined)
    assert.deepEqual(
      [service.read_only, service.tmpfs, service.cap_drop, service.security_opt],
      [true, ['/tmp'], ['ALL'], ['no-new-privileges:true']],
    )
    assert.deepEqual(service.cap_add, service === proxy ? ['NET_BIND_SERVICE'] : [])
  }
})

test('what they set, the programs know', () => {
  const { gateway } = COURSE.services
  const { hub } = HEAD_OFFICE.services
  assert.ok(gateway !== undefined && hub !== undefined)
  readConfig(gateway.environment)
  const config = readHubConfig(hub.environment)
  assert.equal(config.databaseUrl, 'postgres://cartbarn:of-the-database@database:5432/cartbarn')
  assert.ok(config.trustedProxies?.check('172.31.97.3') && !config.trustedProxies.check('172.31.98.3'))
  assert.deepEqual([hub.command, hub.healthcheck?.test], [['hub'], ['CMD', 'cartbarn', 'hub', 'health']])
})

test('every network, volume and service that is named is there', () => {
  for (const { services, networks, volumes } of [COURSE, HEAD_OFFICE]) {
    for (const service of Object.values(services)) {
      for (const name of service.networks) assert.ok(name in networks, name)
      for (const name of Object.keys(service.depends_on)) assert.ok(name in services, name)
      for (const volume of service.volumes) assert.ok((volume.split(':')[0] ?? '') in volumes, volume)
    }
  }
})

test('a head office is not begun without its name, its key or a password', () => {
  for (const name of Object.keys(VARIABLES))
    assert.throws(
      () =>
        read(
          'docs/head-office/compose.yaml',
          Object.fromEntries(Object.entries(VARIABLES).filter(([one]) => one !== name)),
        ),
      new RegExp(`${name} is not set`),
    )
})
