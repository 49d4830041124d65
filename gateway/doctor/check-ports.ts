import { createServer } from 'node:net'
import type { Config } from '#gateway/config.ts'
import { listenOn } from '#shared/budgets/listen.ts'
import { PORT_OF_ROOT, portOwner } from '#shared/http/port-fault.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import type { Machine } from './machine.ts'

interface Door {
  name: string
  port: number
  setting: string
}

/** Checks each port of the settings: the gateway listens, it is free while stopped, or another program has it. */
export async function checkPorts(machine: Machine, config: Config, isRunning: boolean): Promise<Finding[]> {
  const doors: Door[] = [
    {
      name: config.tls === undefined ? 'HTTP' : 'HTTPS',
      port: config.httpPort,
      setting: 'CARTBARN_HTTP_PORT',
    },
    ...present('MQTT', config.mqttPort, 'CARTBARN_MQTT_PORT'),
    ...present('MQTTS', config.mqttsPort, 'CARTBARN_MQTTS_PORT'),
  ]
  const ours = isRunning ? portOwner(config.httpPort, machine.root)?.pid : undefined
  return Promise.all(doors.map((door) => checkDoor(machine, config.host, door, { isRunning, ours })))
}

function present(name: string, port: number | undefined, setting: string): Door[] {
  return port === undefined ? [] : [{ name, port, setting }]
}

async function checkDoor(
  machine: Machine,
  host: string,
  { name, port, setting }: Door,
  { isRunning, ours }: { isRunning: boolean; ours: number | undefined },
): Promise<Finding> {
  const about = `port ${port}`
  if (port === 0) return ok(about, `${name}: any free port is taken`)
  const fault = await whyNotFree(host, port)
  if (fault === undefined)
    return isRunning
      ? failure(about, `${name}: no listener, although the gateway runs`, 'restart it: the settings were changed')
      : ok(about, `${name}: free`)
  if (fault === 'EADDRNOTAVAIL')
    return failure(about, `this machine does not have the address ${host}`, 'set CARTBARN_HOST to another one')
  if (fault === 'EACCES')
    return warning(about, `${name}: is for root only`, `set ${setting} to 1024 or more, or ${PORT_OF_ROOT}`)
  const holder = portOwner(port, machine.root)
  const isOther = ours !== undefined && holder?.pid !== undefined && holder.pid !== ours
  if (isRunning && !isOther) return ok(about, `${name}: the gateway listens`)
  const pid = holder?.pid
  const stop = pid === undefined ? 'sudo cartbarn doctor shows the program' : `sudo kill ${pid}, or stop its service`
  return failure(about, `${name}: taken by ${holder?.words ?? 'another program'}`, `${stop}; or set ${setting}`)
}

/** Returns the error code of a second listener on the port; undefined if the port is free. */
async function whyNotFree(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  try {
    await listenOn(server, { host, port, exclusive: true })
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  } finally {
    server.close()
  }
}
