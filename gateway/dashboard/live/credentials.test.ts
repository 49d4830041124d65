import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCredentialsCsv, toQrText, usualBroker } from './credentials.ts'

const CREDENTIAL = { hardwareId: 'tb-17', password: 'se"cret', name: 'Cart, 17', cart: '=17' }

test('the QR code of a device says where it connects and with what', () => {
  assert.deepEqual(JSON.parse(toQrText(usualBroker('10.0.0.5'), CREDENTIAL)), {
    ...{ mqtt: 'mqtt://10.0.0.5:1883', hardware_id: 'tb-17', password: 'se"cret' },
  })
})

test('credentials are a table that no spreadsheet takes for a formula', () => {
  const csv = toCredentialsCsv('mqtt://b:1883', [CREDENTIAL])
  assert.equal(
    csv,
    '\ufeffhardware_id,name,cart,mqtt,username,password\r\ntb-17,"Cart, 17",\'=17,mqtt://b:1883,tb-17,"se""cret"\r\n',
  )
})
