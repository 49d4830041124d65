import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { DOWNLINKS, type Downlink, deviceTopic, UPLINKS, type Uplink } from '#shared/wire/mqtt.ts'
import type { ClientMessage, ServerMessage } from '#shared/wire/realtime.ts'

/** Kind of message on the WebSocket `/realtime`. */
export interface RealtimeMessage {
  from: 'client' | 'gateway'
  type: string
  description: string
  example: unknown
}

export interface MqttTopic {
  topic: string
  from: 'device' | 'gateway'
  qos: 0 | 1
  retained: boolean
  description: string
  example: unknown
}

const AT = '2026-05-01T08:30:00.000Z'

const CROSSING = {
  hardwareId: 'cart-07',
  eventId: '4Xk2…',
  groupId: 42,
  zoneId: 'green-1',
  zoneName: 'Green 1',
  zoneType: 'stop',
  lat: 28.41,
  long: -81.58,
  timestamp: AT,
}

const ALERT: AlertJson = {
  alert_id: '8f1c…',
  kind: 'low_battery',
  cart: '17',
  hardware_id: 'cart-07',
  opened_at: AT,
  closed_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  note: null,
  details: { voltage: 47.6, threshold: 48 },
}

const CART: CartJson = {
  cart: '17',
  kind: 'golf_cart',
  state: 'out',
  is_moving: true,
  is_low: false,
  is_asleep: false,
  devices: [{ hardware_id: 'cart-07', device_type: 'teebox', is_online: true }],
  position: { lat: 28.41, long: -81.58, speed: 12.4, heading: 270, at: AT, hardware_id: 'cart-07' },
  zones: [{ zone_id: 'hole-7', name: 'Hole 7', type: 'hole', hole: 7, since: AT }],
  lock: { is_locked: false, at: AT, source: 'remote', by: 'Jane', hardware_id: 'cart-07' },
  out_since: AT,
  last_heard_at: AT,
  battery: {
    voltage: 50.9,
    at: AT,
    rest_voltage: 51.2,
    rest_at: AT,
    percent: 72,
    hardware_id: 'cart-07',
  },
  party: null,
  out_of_service: null,
  exempt: null,
  note: null,
  auto_lock_at: null,
  open_alerts: [],
}

/** Description and example of each kind of message: a missing kind does not compile. */
type Described<Message extends { type: string }> = {
  [Type in Message['type']]: { description: string; example: Message & { type: Type } }
}

const FROM_CLIENT: Described<ClientMessage> = {
  authenticate: {
    description:
      'First message of a connection to /realtime?authenticate=message; the response is connected, or error ' +
      'and close code 4401.',
    example: { type: 'authenticate', apiKey: 'flt_…' },
  },
  subscribe: {
    description:
      'Watch these devices too; ["*"] is every device in scope, now and later. With snapshot true the ' +
      'response is followed by a snapshot. Readings newer than the latest state are sent as device_data; an ' +
      'older reading, and a first one that is over 5 minutes old, as device_backfill. A batch of readings is ' +
      'one message. id is optional; the responses repeat it.',
    example: { type: 'subscribe', hardwareIds: ['cart-07', 'cart-08'], snapshot: true, id: '1' },
  },
  unsubscribe: {
    description: 'Stop watching these devices.',
    example: { type: 'unsubscribe', hardwareIds: ['cart-07'] },
  },
  command: {
    description: 'The same as POST /devices/{id}/commands.',
    example: {
      type: 'command',
      hardwareId: 'cart-07',
      command: 'unlock',
      params: {},
      metadata: { name: 'Jane' },
      id: '2',
    },
  },
  ping: { description: 'For clients that cannot send WebSocket pings.', example: { type: 'ping', id: 3 } },
}

const FROM_GATEWAY: Described<ServerMessage> = {
  connected: {
    description:
      'The key is valid. Get the state with subscribe and snapshot, or with GET, and apply newer messages. ' +
      'started_at changes with each start of the gateway.',
    example: { type: 'connected', connectionId: '8f1c…', time: AT, started_at: AT, version: '1.0.0' },
  },
  subscribed: {
    description: 'Response to subscribe; denied lists devices that are unknown or out of scope.',
    example: { type: 'subscribed', hardwareIds: ['cart-07'], denied: ['cart-08'], id: '1' },
  },
  snapshot: {
    description:
      'State of a subscribe with snapshot: its devices as in GET /devices, their carts, and all alerts in scope ' +
      'that are not closed. Later messages are newer.',
    example: { type: 'snapshot', devices: [], carts: [CART], alerts: [], time: AT, id: '1' },
  },
  cart: {
    description:
      'State, zones, lock, battery flag, alerts, devices or notes of a cart changed; not sent for each position. ' +
      'Sent to watchers of one of its devices.',
    example: { type: 'cart', cart: CART, timestamp: AT },
  },
  cart_removed: {
    description: 'The cart has no devices left, or none in your scope.',
    example: { type: 'cart_removed', cart: '17' },
  },
  unsubscribed: {
    description: 'Response to unsubscribe; also sent with reason "scope" when the scope of the user becomes narrower.',
    example: { type: 'unsubscribed', hardwareIds: ['cart-07'] },
  },
  device_data: {
    description: 'Changed values only: one message may have a position, the next a voltage.',
    example: {
      type: 'device_data',
      hardwareId: 'cart-07',
      payload: { lat: 28.41, long: -81.58, speed: 12.4 },
      timestamp: AT,
      updated_at: AT,
      last_responded_at: AT,
    },
  },
  device_status: {
    description: 'The device connected or disconnected.',
    example: { type: 'device_status', hardwareId: 'cart-07', payload: { is_online: false }, timestamp: AT },
  },
  device_locked: {
    description: 'A lock event; metadata is that of the command, with source remote.',
    example: {
      type: 'device_locked',
      hardwareId: 'cart-07',
      eventId: '4Xk0…',
      source: 'remote',
      metadata: { name: 'Jane' },
      timestamp: AT,
    },
  },
  device_unlocked: {
    description: 'A lock event; code is the tag or keypad code; users with mask_codes see its last two characters.',
    example: {
      type: 'device_unlocked',
      hardwareId: 'cart-07',
      eventId: '4Xk1…',
      source: 'rfid',
      code: '04A1B2C3',
      timestamp: AT,
    },
  },
  command_sent: {
    description: 'The command is recorded.',
    example: {
      type: 'command_sent',
      commandId: '1b9d…',
      hardwareId: 'cart-07',
      command: 'unlock',
      status: 'pending',
      id: '2',
    },
  },
  command_status: {
    description:
      'New status of a command that this connection sent, or of any lock or unlock; error is the reason of a ' +
      'failure.',
    example: {
      type: 'command_status',
      commandId: '1b9d…',
      hardwareId: 'cart-07',
      command: 'unlock',
      status: 'completed',
      requestedBy: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11',
      timestamp: AT,
    },
  },
  geofence_enter: {
    description: 'The device entered a zone; time and position are those of the crossing.',
    example: { type: 'geofence_enter', ...CROSSING },
  },
  geofence_exit: {
    description: 'The device left a zone.',
    example: { type: 'geofence_exit', ...CROSSING },
  },
  device_changed: {
    description:
      'The device was registered, or its name, cart, type or group was changed. It has the form of ' + 'GET /devices.',
    example: {
      type: 'device_changed',
      hardwareId: 'cart-07',
      device: {
        short_id: 'k3v9x2qa',
        hardware_id: 'cart-07',
        device_type: 'teebox',
        name: 'Cart 7',
        cart: '7',
        attributes: { lat: 28.41, long: -81.58, speed: 12.4 },
        is_online: true,
        group_id: 42,
        enrolled_with_shared_key: false,
        created_at: AT,
        updated_at: AT,
        last_responded_at: AT,
      },
    },
  },
  device_removed: {
    description: 'The device was deleted; a subscription to it by name has ended.',
    example: { type: 'device_removed', hardwareId: 'cart-07' },
  },
  device_backfill: {
    description: 'Old samples arrived; they are in the history, and the latest state has not changed.',
    example: { type: 'device_backfill', hardwareId: 'cart-07', from: AT, to: AT, count: 214 },
  },
  zones_changed: {
    description: 'The zones of the site have changed: GET /zones. Sent to every connection.',
    example: { type: 'zones_changed', version: 8 },
  },
  course_changed: {
    description: 'The course map or its photo has changed: GET /course. Sent to every connection.',
    example: { type: 'course_changed', version: 4 },
  },
  alert: {
    description:
      'An alert was opened, acknowledged or closed, its cart called again (repeated), or staff did not acknowledge a ' +
      'call in time (escalated); sent to every user who may see it, independent of subscriptions.',
    example: { type: 'alert', event: 'opened', alert: ALERT, timestamp: AT },
  },
  site_changed: {
    description:
      'The settings of the site have changed: all of them for users who may read them, else name, time_zone, ' +
      'units and language.',
    example: {
      type: 'site_changed',
      site: { name: 'Pebble Creek', time_zone: 'America/New_York', units: 'imperial', language: 'en' },
    },
  },
  pong: { description: 'Response to ping.', example: { type: 'pong', time: AT, id: 3 } },
  party: {
    description: 'A party was changed or removed; its carts are those in scope. For staff and admins.',
    example: {
      type: 'party',
      event: 'changed',
      party: {
        party_id: '5c0e…',
        state: 'out',
        date: '2026-05-01',
        tee_time: AT,
        start_hole: 1,
        holes: 18,
        players: ['Miller', 'Jones'],
        note: null,
        external_id: 'B-1042',
        source: 'sheet',
        until: AT,
        is_overdue: false,
        carts: [{ cart: '17', driver: 'Miller', given_at: AT, by: null, returned_at: null, returned: null }],
        notes: [],
        created_at: AT,
        updated_at: AT,
        by: { user_id: '7b1f…', name: 'Jane' },
      },
      timestamp: AT,
    },
  },
  recall: {
    description:
      'All carts were called in, the screen hardwareId has confirmed it, or it has ended. For staff and admins; ' +
      'without hardwareId for a screen that is out of scope.',
    example: {
      type: 'recall',
      event: 'confirmed',
      hardwareId: 'screen-17',
      recall: {
        recall_id: '5c0e…',
        text: 'All carts in: please return to the clubhouse now.',
        started_at: AT,
        by: { user_id: '7b1f…', name: 'Jane' },
      },
      timestamp: AT,
    },
  },
  message: {
    description:
      'A message was sent to carts, or screens have confirmed it. For staff and admins, with the carts in scope.',
    example: {
      type: 'message',
      event: 'confirmed',
      message: {
        message_id: '9a1c…',
        text: 'The kiosk is open.',
        text_id: 'kiosk',
        to: { hole: 7 },
        sent_at: AT,
        expires_at: AT,
        by: { user_id: '7b1f…', name: 'Jane' },
        carts: [{ cart: '17', screen: 'confirmed' }],
      },
      timestamp: AT,
    },
  },
  error: {
    description: 'The gateway rejected a message; the connection stays open.',
    example: { type: 'error', code: 'invalid_message', message: 'hardwareIds must be an array', id: '1' },
  },
}

export const REALTIME_PATH = '/realtime'

export const REALTIME_MESSAGES: readonly RealtimeMessage[] = [
  ...listed('client', FROM_CLIENT),
  ...listed('gateway', FROM_GATEWAY),
]

function listed(
  from: RealtimeMessage['from'],
  described: Record<string, { description: string; example: unknown }>,
): RealtimeMessage[] {
  return Object.entries(described).map(([type, one]) => ({ from, type, ...one }))
}

/** Messages on each topic of a device: a topic without a description does not compile. */
const DEVICE_TOPICS: Record<Uplink | Downlink, Omit<MqttTopic, 'topic' | 'from'>> = {
  tlm: {
    qos: 1,
    retained: false,
    description:
      'Telemetry: one sample with any of these keys and further ones, with or without ts in milliseconds; an ' +
      'array of samples; or {"boot","up","s":[…]} from a device without a clock. Up to 500 samples, 64 KiB.',
    example: {
      ts: 1765967400123,
      lat: 28.41,
      long: -81.58,
      speed: 12.4,
      battery_voltage: 50.9,
      lock_status: 1,
    },
  },
  evt: {
    qos: 1,
    retained: false,
    description:
      'A lock event, or an array of them. It may be sent again: the same eid, event and ts of a registered ' +
      'device are one event; cmd names a remote command.',
    example: { eid: '17-42', event: 'unlock', source: 'rfid', code: '04A1B2C3', ts: 1765967400123 },
  },
  call: {
    qos: 1,
    retained: false,
    description:
      'A call of the golfer: help, ranger, breakdown or order, with a text of up to 200 characters. The same cid, or ' +
      'without one the same ts and call, is the same call; {"cid","call":"cancel"} withdraws it. At most 6 a minute.',
    example: { call: 'help', text: 'Flat tyre', cid: '17-3', ts: 1765967400123 },
  },
  st: {
    qos: 1,
    retained: true,
    description:
      'The device is connected; its last will is {"online":false}, a planned disconnect ' +
      '{"online":false,"r":"sleep"}. A device enrols with the first one: type is its device type, cart its cart.',
    example: { online: true, fw: '1.4.2', type: 'teebox', boot: 17, cart: '7' },
  },
  ack: {
    qos: 1,
    retained: false,
    description:
      'The status of a command: acknowledged, completed, or failed with err. Or the applied version of the ' +
      'configuration or zones: {"cfg":12}, {"sz":7}. Or a confirmation of the stored password: {"key":1}.',
    example: { id: '1b9d…', st: 'completed' },
  },
  cmd: {
    qos: 1,
    retained: false,
    description: 'A command; ts is in milliseconds, ttl in seconds. The device ignores it after ts plus ttl.',
    example: { id: '1b9d…', cmd: 'unlock', params: {}, ts: 1765967400123, ttl: 60 },
  },
  cfg: {
    qos: 1,
    retained: true,
    description: 'Configuration of the device, with an increasing version; group_id is the group whose zones to read.',
    example: { v: 12, ts: 1765967400123, group_id: 42, config: { realtime_enabled: true } },
  },
  key: {
    qos: 1,
    retained: false,
    description:
      'Password of the device, sent to the connection that it opened with the enrolment key. The ' +
      'device stores it, acknowledges with {"key":1} on ack, and logs in with it from then on.',
    example: { password: 'Xk7Jm2Qp9Rt4Wv6Yz8Ab3Cd5Ef1Gh0' },
  },
  tq: {
    qos: 0,
    retained: false,
    description: 'The device requests the time; the response repeats up.',
    example: { up: 81234 },
  },
  ta: {
    qos: 0,
    retained: false,
    description: 'The time, in milliseconds since 1970.',
    example: { t: 1765967400123, up: 81234 },
  },
}

export const MQTT_TOPICS: readonly MqttTopic[] = [
  ...UPLINKS.map((level) => ({
    topic: deviceTopic('{hardware_id}', level),
    from: 'device' as const,
    ...DEVICE_TOPICS[level],
  })),
  ...DOWNLINKS.map((level) => ({
    topic: deviceTopic('{hardware_id}', level),
    from: 'gateway' as const,
    ...DEVICE_TOPICS[level],
  })),
  {
    topic: 'sit/{group_id}/sz',
    from: 'gateway',
    qos: 1,
    retained: true,
    description:
      'The zones of a group, for tee boxes: integers of 1e-7 degree, p corners as latitude, longitude …, or c ' +
      'centre and r radius in metres; t is a alert, s stop, w slow (k km/h), p parking.',
    example: { v: 7, z: [{ i: 'p1', t: 'p', c: [284100000, -815800000], r: 25 }] },
  },
  {
    topic: 'alert/{kind}/{cart}',
    from: 'gateway',
    qos: 1,
    retained: true,
    description:
      'The alert of a kind and a cart that is not closed, for programs; empty once it is closed. The name of the ' +
      'cart is percent-encoded, and site for disk, clock, sync, backup, certificate and pin_locked. Readable for ' +
      'users who may see the alert.',
    example: ALERT,
  },
]
