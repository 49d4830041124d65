import type { Config } from '#gateway/config.ts'
import { namesValues } from '#shared/wire/machine/findings.ts'
import { mqttClientListSchema } from '#shared/wire/mqtt-status.ts'
import { type Finding, ok, shared } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'MQTT'
const PAGE = 1000

/**
 * Lists the clients that still use plain MQTT once there is a certificate, so that an admin can safely close that port.
 * Returns no finding unless a running gateway lists its clients for an admin.
 */
export async function checkPlainDevices(
  { tls, mqttPort }: Pick<Config, 'tls' | 'mqttPort'>,
  running: Running | undefined,
): Promise<Finding[]> {
  if (tls === undefined || mqttPort === undefined || running === undefined) return []
  const plain = await plainClients(running)
  if (plain === undefined) return []
  if (plain.length === 0) return [ok(ABOUT, 'no client uses it without TLS now')]
  return [shared('plain_mqtt', namesValues(plain))]
}

/** Undefined if the gateway does not list its clients. */
async function plainClients(running: Running): Promise<string[] | undefined> {
  const found: string[] = []
  for (let offset = 0; ; offset += PAGE) {
    const text = await running.read(`/mqtt/clients?connected=true&limit=${PAGE}&offset=${offset}`)
    const { data } = mqttClientListSchema.safeParse(attempt(() => JSON.parse(text ?? '')))
    if (data === undefined) return undefined
    for (const { client_id, transport } of data.clients) if (transport === 'tcp') found.push(client_id)
    if (data.clients.length < PAGE) return found
  }
}
