import assert from 'node:assert/strict'
import { eventually } from '#shared/testing/eventually.ts'
import type { RoundJson } from '#shared/wire/rounds.ts'
import { answered } from '../page-faults.ts'
import { PLACES, type Place } from '../places.ts'
import { playRound } from '../played-round.ts'
import { createStage } from '../stage.ts'

const HOLE_1 = PLACES.fairway
const HOLE_2: Place = { eastM: 350, northM: 260 }

const stage = createStage({
  prepare: async ({ gateway }) => {
    // two that play together and are late, one that is ahead
    await playRound(gateway, '7', [
      [PLACES.barn, 3],
      [HOLE_1, 30],
      [HOLE_2, 12],
    ])
    await playRound(gateway, '8', [
      [PLACES.barn, 3],
      [HOLE_1, 29],
      [HOLE_2, 13],
    ])
    const legs: [Place, number][] = [
      [PLACES.barn, 3],
      [HOLE_2, 9],
    ]
    await playRound(gateway, '21', legs, { hasScreen: false })
    await eventually(async () => {
      const { body } = await gateway.request('GET', '/rounds/active')
      return (body.rounds as RoundJson[]).length === 3
    }, 'all are on a round')
  },
})

stage.eachSetup(
  'groups are listed, those that delay others first, and one of them receives a message to hurry',
  async (scene) => {
    const { page, open, audit, gateway } = scene
    await open('/app/#/pace', 'staff')
    const list = page.getByRole('list', { name: 'Pace of play' })
    await list.getByText('Carts 7, 8').waitFor()
    const rows = await list.getByRole('listitem').allInnerTexts()
    assert.equal(rows.length, 2)
    assert.match(rows[0] ?? '', /Carts 7, 8[\s\S]*Hole 2 · Behind 1\d min, holds nobody up[\s\S]*started on hole 1/)
    assert.match(rows[1] ?? '', /Cart 21[\s\S]*Hole 2 · On pace/)
    await audit()
    const shown = async () => {
      const { body } = await gateway.request('GET', '/devices/screen-8/commands')
      return body.commands.filter(({ command }: { command: string }) => command === 'message')
    }
    const before = (await shown()).length
    await page.getByRole('button', { name: 'Message to carts 7, 8' }).click()
    await page.getByRole('textbox', { name: 'Other text' }).waitFor()
    await audit()
    await page.getByRole('button', { name: 'Please let the group behind you play through.' }).click()
    await page.getByText('0 of 2 have read it.').waitFor()
    await page.getByText(/^Not connected, shown if back by .*: 7, 8$/).waitFor()
    await audit()
    await eventually(
      async () => (await shown()).length === before + 1,
      'the screen of the other cart receives the message',
    )
    const [newest] = await shown()
    assert.equal(newest.params.text, 'Please let the group behind you play through.')
  },
)

stage.test('one tap notes that a party was asked to keep up', async ({ page, open, audit, gateway }) => {
  const { body } = await gateway.request('POST', '/parties', { body: { players: ['Miller'] } })
  const { party_id } = body.party
  // the rounds of this stage began before any cart could be given out
  await page.route('**/pace', async (route) => {
    const response = await route.fetch()
    const pace = await response.json()
    const { notes } = (await gateway.request('GET', `/parties/${party_id}`)).body
    const last_note = notes.at(-1) ?? null
    await route.fulfill({ response, json: { ...pace, parties: [{ ...pace.parties[0], party_id, last_note }] } })
  })
  await open('/app/#/pace', 'staff')
  await page.getByRole('button', { name: /^Asked to keep up/ }).click()
  await page.getByText(/^Asked to keep up \d\d:\d\d/).waitFor()
  await audit()
  const { notes } = (await gateway.request('GET', `/parties/${party_id}`)).body
  assert.deepEqual([notes.length, notes[0].text], [1, 'Asked to keep up'])
})

stage.eachSetup('an admin writes the ready texts, and all carts on the course receive one', async (scene) => {
  const { page, open, audit, gateway, faults } = scene
  // the page of the admin still asks for access requests when staff have signed in
  faults.forgive(answered(403))
  await gateway.request('PUT', '/texts', { body: ['a', 'b'].map((text_id) => ({ text_id, en: text_id, de: text_id })) })
  await open('/app/#/more/texts', 'admin')
  const texts = page.getByRole('group', { name: /^Text \d+$/ })
  const save = page.getByRole('button', { name: 'Save' })
  await texts.first().waitFor()
  await audit()
  await page.getByRole('button', { name: 'Remove text 1' }).click()
  await page.getByRole('button', { name: 'Add a text' }).click()
  await texts.last().getByRole('textbox', { name: 'English' }).fill(' Fog on hole 2. ')
  assert.ok(await save.isDisabled())
  await texts.last().getByRole('textbox', { name: 'German' }).fill('Nebel auf Bahn 2.')
  await texts.last().getByRole('checkbox', { name: 'Urgent' }).check()
  await save.click()
  await page.getByText('Saved.', { exact: true }).waitFor()
  const { body: saved } = await gateway.request('GET', '/texts')
  const { en, de, is_urgent } = saved.at(-1)
  assert.deepEqual([en, de, is_urgent], ['Fog on hole 2.', 'Nebel auf Bahn 2.', true])
  await open('/app/#/map', 'staff')
  await page.getByRole('button', { name: 'Pace', exact: true }).click()
  await page.getByRole('region', { name: 'Pace of play' }).getByText('Carts 7, 8').waitFor()
  await audit()
  await page.getByRole('button', { name: 'Message to carts', exact: true }).click()
  await page.getByText('3 carts, 1 without a screen').waitFor()
  await page.getByRole('combobox', { name: 'To' }).selectOption('Hole 2')
  await page.getByText('3 carts, 1 without a screen').waitFor()
  await audit()
  await page.getByRole('button', { name: 'Fog on hole 2.' }).click()
  await page.getByText('0 of 2 have read it.').waitFor()
  await page.getByText('Without a screen: 21').waitFor()
  const { messages } = (await gateway.request('GET', '/messages?limit=1')).body
  assert.deepEqual([messages[0].to, messages[0].text], [{ hole: 2 }, 'Fog on hole 2.'])
  const { body: renewed } = await gateway.request('POST', '/devices/screen-7/rotate-mqtt-password')
  const screen = await gateway.connect('screen-7', renewed.mqtt.password)
  const { body: sent } = await gateway.request('GET', '/devices/screen-7/commands?limit=1')
  const ack = JSON.stringify({ id: sent.commands[0].command_id, st: 'completed' })
  await screen.publishAsync('dev/screen-7/ack', ack, { qos: 1 })
  await page.getByText('1 of 2 have read it.').waitFor()
  await screen.endAsync()
  await audit()
  await page.getByRole('button', { name: 'Close' }).last().click()
  // without a screen
  await page.getByRole('button', { name: 'Beep cart 21' }).click()
  await page.getByText('Confirmed: 0 of 1.').waitFor()
})

stage.test('a cart’s card shows its hole and how far behind it is', async ({ page, open, audit }) => {
  await open('/app/', 'staff')
  await page.getByRole('searchbox', { name: 'Cart number' }).fill('7')
  await page.keyboard.press('Enter')
  await page.getByText(/^Hole 2 · 2\d min behind$/).waitFor()
  await audit()
})

// last, because it removes the holes
stage.test('without hole zones the page explains what to do', async ({ page, open, audit, gateway }) => {
  const zones = await gateway.request('GET', '/zones')
  const features = zones.body.features.filter(
    ({ properties }: { properties: { type: string } }) => properties.type !== 'hole',
  )
  const headers = { 'if-match': '*' }
  await gateway.request('PUT', '/zones', { body: { type: 'FeatureCollection', features }, headers })
  await open('/app/#/more/pace', 'admin')
  await page.getByText('Pace needs numbered hole zones').waitFor()
  await page.getByRole('link', { name: 'Suggest hole zones from course map' }).waitFor()
  await audit()
})
