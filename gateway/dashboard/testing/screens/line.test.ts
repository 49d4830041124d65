import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '#gateway/config.ts'
import { createGateway } from '#gateway/gateway.ts'
import { createLog } from '#shared/log.ts'
import { migrate } from '#store/migrate.ts'
import { openForSetup } from '#store/writer/open.ts'
import { fillSchema } from '#testing/rows-of-schema.ts'
import { answered, LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** Time limit for the app to show it, with an allowance for a busy machine. */
const CLOSED_SHOWN_MS = 5_000
const SILENT_SHOWN_MS = 20_000
const SLACK_MS = 5_000

/** Pages whose data are read when they open, by title. */
const PAGES = Object.entries({
  'Pace of play': 'pace',
  'Cart path only': 'cart-path',
  Zones: 'zones',
  'Course map': 'course',
  'Replay a day': 'replay',
})
const stage = createStage({
  prepare: async ({ course }) => {
    await course.cart('17')
  },
})

stage.test('a closed connection is shown within 5 s, and as live again after it returns', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No connection for')
  await page.getByText('Live', { exact: false }).first().waitFor()
  assert.equal(await banner.count(), 0)
  link.cut()
  await banner.waitFor({ timeout: CLOSED_SHOWN_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})

stage.test('a silent connection is shown within 20 s', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No connection for')
  await page.getByText('Live', { exact: false }).first().waitFor()
  link.freeze()
  await banner.waitFor({ timeout: SILENT_SHOWN_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})

/** Starts a gateway in the middle of a database upgrade, until it is stopped. */
async function startUpgrading(): Promise<{ http: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-line-'))
  const connection = openForSetup(join(folder, 'cartbarn.db'))
  migrate(connection, 20)
  fillSchema(connection)
  connection.close()
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  // it listens at a port
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  const config = readConfig({
    CARTBARN_DATA_DIR: folder,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: String(port),
    CARTBARN_MQTT_PORT: '0',
  })
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const onUpgrade = () => {
    begun.resolve()
    return stopped.promise
  }
  const gateway = createGateway(config, createLog('silent'), { onUpgrade })
  const starting = gateway.start().catch(() => undefined)
  await begun.promise
  const stop = async () => {
    const ended = gateway.stop()
    stopped.resolve()
    await Promise.all([ended, starting])
    rmSync(folder, { recursive: true, force: true })
  }
  return { http: `http://127.0.0.1:${port}`, stop }
}

stage.test('pages opened without the gateway say that nothing is known, and take no drawing', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open('/app/#/more', 'admin')
  await page.getByRole('heading', { name: 'More' }).waitFor()
  // the code of a page must be there
  for (const [title, path] of PAGES) {
    await page.evaluate(`location.hash = '#/more/${path}'`)
    await page.getByRole('main').getByRole('heading', { name: title, level: 1 }).waitFor()
  }
  link.cut()
  await page.getByText('No connection for').waitFor()
  await page.evaluate(`location.hash = '#/map'`)
  for (const [, path] of PAGES) {
    await page.evaluate(`location.hash = '#/more/${path}'`)
    await page.getByRole('main').getByText('Unknown: no connection to the gateway.').waitFor()
    for (const name of ['New area', 'New circle', 'Suggest from course map', 'Place barn here'])
      for (const button of await page.getByRole('button', { name }).all()) assert.equal(await button.isDisabled(), true)
    assert.equal(await page.locator('input[type=file]').count(), 0)
  }
})

stage.test('a gateway that restarts for an upgrade is not shown as a lost connection', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE, answered(503))
  await open()
  await page.getByText('Live', { exact: false }).first().waitFor()
  const upgrading = await startUpgrading()
  try {
    // the network is cut here, so a gateway that really upgrades supplies the progress
    await page.route('**/health', async (route) =>
      route.fulfill({ response: await route.fetch({ url: `${upgrading.http}/health` }) }),
    )
    link.cut()
    const bar = page.getByRole('status').getByText('Gateway update in progress.')
    await bar.waitFor()
    assert.equal(await page.getByText('No connection for').count(), 0)
    await page.unroute('**/health')
    link.restore()
    await bar.waitFor({ state: 'detached' })
  } finally {
    await upgrading.stop()
  }
})
