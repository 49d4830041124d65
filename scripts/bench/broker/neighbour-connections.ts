import { MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { connectPacket } from '#testing/mqtt-packets.ts'
import type { Count, NeighbourPlan } from './neighbour-plan.ts'

const HALF_OPEN = 2000
const OPENED_AT_ONCE = 50
const OPEN_GAP_MS = 50
const LOGINS_AT_ONCE = 50
const RETRY_MS = 100

/** Opens connections that send nothing, or half a CONNECT; reopens those that the gateway closes. */
export function openByHalves({ port, device }: NeighbourPlan, count: Count): void {
  const connect = connectPacket(connectFields(device.hardwareId, device.password))
  const half = connect.subarray(0, connect.length / 2)
  const open = (isSilent: boolean) => {
    const socket = new MqttSocket(port, null, {
      connected: () => {
        count('opened')
        if (!isSilent) socket.write(half)
      },
      closed: () => {
        count('closed')
        setTimeout(() => open(isSilent), RETRY_MS)
      },
    })
  }
  let opened = 0
  const timer = setInterval(() => {
    for (let i = 0; i < OPENED_AT_ONCE; i++) open(opened++ % 2 === 0)
    if (opened >= HALF_OPEN) clearInterval(timer)
  }, OPEN_GAP_MS)
}

/** Client that guesses passwords, alternately of a device and of a user. */
export function guessPasswords({ port, login, device }: NeighbourPlan, count: Count): void {
  const names = [device.hardwareId, login.username]
  const guess = (turn: number) => {
    const name = names[turn % names.length] ?? device.hardwareId
    const socket = new MqttSocket(port, connectFields(name, `guess-${turn}-0123456789abcdef`), {
      connack: (returnCode) => {
        count(returnCode === 0 ? 'let in' : 'refused')
        socket.cut()
      },
      closed: () => guess(turn + 1),
    })
  }
  for (let i = 0; i < LOGINS_AT_ONCE; i++) guess(i)
}

function connectFields(username: string, password: string) {
  return { clientId: username, username, password, clean: true, keepaliveS: 60 }
}
