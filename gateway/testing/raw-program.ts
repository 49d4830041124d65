import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ConnectFields } from './mqtt-packets.ts'
import { RawMqtt } from './raw-mqtt.ts'
import { ADMIN_KEY, type TestGateway } from './start-gateway.ts'

/** Returns the CONNECT fields of a program: the admin's API key, and by default a client id of its own. */
export async function programFields(gateway: TestGateway, fields: Partial<ConnectFields> = {}): Promise<ConnectFields> {
  return {
    clientId: `raw-${randomUUID()}`,
    username: await gateway.adminId(),
    password: ADMIN_KEY,
    ...fields,
  }
}

/** Opens a raw connection that is logged in with the admin's API key. */
export async function rawProgram(gateway: TestGateway, fields: Partial<ConnectFields> = {}): Promise<RawMqtt> {
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login(await programFields(gateway, fields)), 0)
  return client
}
