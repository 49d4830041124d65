import assert from 'node:assert/strict'
import { after } from 'node:test'
import { FakeMachine } from '#testing/fake-machine.ts'
import { LINE_GONE } from '../page-faults.ts'
import { createStage } from '../stage.ts'

/** By which the app must have said so, and what a busy machine may take beside. */
const CLOSED_SAID_MS = 5_000
const SILENT_SAID_MS = 20_000
const SLACK_MS = 5_000

const machine = new FakeMachine({ after }, { board: '10000000abcdef01' })

const stage = createStage({
  overrides: { machineRoot: machine.root },
  prepare: async ({ course }) => {
    await course.cart('17')
  },
})

stage.test('a line that is closed is said within 5 s, and live again when it is back', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No contact')
  await page.getByText('Live', { exact: false }).first().waitFor()
  assert.equal(await banner.count(), 0)
  link.cut()
  await banner.waitFor({ timeout: CLOSED_SAID_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})

stage.test('a line that falls silent is said within 20 s', async (scene) => {
  const { page, link, faults, open } = scene
  faults.forgive(LINE_GONE)
  await open()
  const banner = page.getByRole('status').getByText('No contact')
  await page.getByText('Live', { exact: false }).first().waitFor()
  link.freeze()
  await banner.waitFor({ timeout: SILENT_SAID_MS + SLACK_MS })
  link.restore()
  await banner.waitFor({ state: 'detached' })
})

stage.test('a copied card asks an admin what it is, and nobody else', async (scene) => {
  const { page, open, audit, gateway, other } = scene
  await gateway.restart(() => machine.becomes({ board: '10000000abcdef02' }))
  const staff = await other()
  await staff.open()
  await open('/app/', 'admin')
  const said = page.getByText('This data comes from another machine.')
  await said.waitFor()
  await audit()
  await page.getByRole('button', { name: 'Another course' }).click()
  await page.getByText('type: cartbarn new-site --yes').waitFor()
  await audit()
  await staff.page.getByText('Live', { exact: false }).first().waitFor()
  assert.equal(await staff.page.getByText('This data comes from another machine.').count(), 0)
  await page.getByRole('button', { name: 'Same course' }).click()
  await said.waitFor({ state: 'detached' })
  const { body } = await gateway.request('GET', '/health')
  assert.equal(body.machine, undefined)
})
