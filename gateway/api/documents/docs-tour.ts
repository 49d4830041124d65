import type { Walkthrough } from '#shared/http/docs/tour.ts'

const ZONE = {
  type: 'Feature',
  id: 'green-1',
  geometry: { type: 'Point', coordinates: [-81.58, 28.41] },
  properties: { name: 'Green 1', type: 'alert', radius_m: 25 },
}

/** Keeps the password out of arguments, which other users of a host can see, unlike files and the environment. */
const KEEP_PASSWORD = `PASSWORD=…
mkdir -m 700 cart-07; printf -- '-u cart-07\\n-P %s\\n' "$PASSWORD" > cart-07/mosquitto_pub`

const LISTEN = `KEY=$KEY node -e 'const ws = new WebSocket("WS_URL/realtime?authenticate=message")
const send = (message) => ws.send(JSON.stringify(message))
ws.onopen = () => {
  send({ type: "authenticate", apiKey: process.env.KEY })
  send({ type: "subscribe", hardwareIds: ["*"] })
}
ws.onmessage = ({ data }) => console.log(data)'`

/** Walkthrough from an empty gateway to a remotely locked cart. The page omits operations that the gateway lacks. */
export const TOUR: Walkthrough = {
  title: 'From nothing to a locked cart',
  intro: 'Copy these into a shell, one after the other. First, where the gateway is, and your admin key:',
  keyPrefix: 'flt_',
  steps: [
    {
      title: 'Check that the gateway runs',
      text: 'This request needs no key. With an admin key the response has more.',
      actions: [{ method: 'GET', path: '/health' }],
    },
    {
      title: 'Create a user',
      text:
        'Create one for each program and each tablet, with the devices it may see. The response has its api_key, ' +
        'which is shown only once; your own admin key was printed when the gateway first started.',
      actions: [
        {
          method: 'POST',
          path: '/users',
          body: { name: 'Starter tablet', allowed_hardware_ids: ['cart-07'] },
        },
      ],
    },
    {
      title: 'Register a device',
      text: 'The response has the MQTT password, which is shown only once. The next step needs it.',
      actions: [
        {
          method: 'POST',
          path: '/devices',
          body: { hardware_id: 'cart-07', device_type: 'teebox', name: 'Cart 7' },
        },
      ],
    },
    {
      title: 'Publish as that device',
      text:
        'MQTT 3.1.1 on port 1883: client id and user name are the hardware_id. The gateway acknowledges a message ' +
        'once it is on the disk. mosquitto_pub reads the password from a file: ps would show -P.',
      actions: [
        { command: KEEP_PASSWORD },
        { publish: { topic: 'dev/cart-07/st', payload: { online: true, fw: '1.4.2', type: 'teebox' } } },
        {
          publish: {
            topic: 'dev/cart-07/tlm',
            payload: { lat: 28.41, long: -81.58, speed: 2.4, battery_voltage: 50.9, lock_status: 1 },
          },
        },
        {
          publish: {
            topic: 'dev/cart-07/evt',
            payload: { eid: '17-42', event: 'unlock', source: 'rfid', code: '04A1B2C3' },
          },
        },
      ],
    },
    {
      title: 'See where it is, and where it was',
      text: 'The latest state of the device, and its history: also as a file, with format=csv, ndjson, gpx or geojson.',
      actions: [
        { method: 'GET', path: '/devices/cart-07' },
        { method: 'GET', path: '/devices/cart-07/gps?limit=10' },
      ],
    },
    {
      title: 'Put it into a group',
      text: 'Groups share configuration and zones.',
      actions: [
        { method: 'POST', path: '/groups', body: { name: 'Front nine', group_id: 42 } },
        { method: 'PUT', path: '/groups/42/devices/cart-07' },
      ],
    },
    {
      title: 'Configure the group',
      text:
        'Settings of the group override defaults of the type, and settings of the device override both. The ' +
        'gateway publishes the result for each device, retained, on dev/{hardware_id}/cfg.',
      actions: [
        { method: 'PUT', path: '/groups/42/config/teebox', body: { realtime_enabled: true } },
        { method: 'PUT', path: '/devices/cart-07/config', body: { key_keyless_state: 'keyless' } },
      ],
    },
    {
      title: 'Draw a zone',
      text: 'Send GeoJSON, longitude first; it replaces all zones of the group. Tee boxes receive them on sit/42/sz.',
      actions: [
        {
          method: 'PUT',
          path: '/groups/42/geofences',
          body: { type: 'FeatureCollection', features: [ZONE] },
        },
      ],
    },
    {
      title: 'Send a command',
      text: 'The command waits for the device up to its time to live, and never longer. Its status shows the outcome.',
      actions: [
        {
          method: 'POST',
          path: '/devices/cart-07/commands',
          body: { command: 'lock', metadata: { name: 'Jane' } },
        },
        { method: 'GET', path: '/devices/cart-07/commands?limit=5' },
      ],
    },
    {
      title: 'Read the events',
      text: 'When and by which tag, code or command it was locked and unlocked, and which zones it entered and left.',
      actions: [
        { method: 'GET', path: '/lock-events?hardware_id=cart-07' },
        { method: 'GET', path: '/geofence-events?hardware_id=cart-07' },
      ],
    },
    {
      title: 'See what it drove',
      text:
        'The gateway finds trips and stops of up to 31 days in the GPS history, and whether the device drives now. ' +
        ' With -H "Accept: application/geo+json" the list is a map.',
      actions: [
        { method: 'GET', path: '/trips/cart-07?from=2026-05-01&to=2026-05-31' },
        { method: 'GET', path: '/trips/cart-07/active' },
      ],
    },
    {
      title: 'Watch it live',
      text: 'Everything in the scope of the key, as it happens, with Node 22 or later.',
      actions: [{ command: LISTEN }],
    },
  ],
}
