import { count } from '#shared/wire/settings.ts'

export const MQTT = {
  USER_MQTT_CONNECTIONS: {
    schema: count(1, 100_000).default(20),
    help: 'concurrent MQTT connections of one user; many programs may share a key',
  },
  USER_MQTT_SESSIONS: {
    schema: count(1, 100_000).default(10),
    help: 'MQTT sessions (clean session 0) that are kept for one user',
  },
  USER_MQTT_SUBSCRIPTIONS: {
    schema: count(1, 1_000_000).default(200),
    help: 'MQTT subscriptions of one user, over all its connections and sessions',
  },
  MQTT_CONNECTIONS: { schema: count(1, 100_000).default(10_000), help: 'concurrent MQTT connections' },
  MQTT_CONNECTIONS_PER_ADDRESS: {
    schema: count(1, 100_000).default(2_500),
    help: 'concurrent MQTT connections from one address; a whole fleet may share one router',
  },
  MQTT_FAILED_LOGINS_PER_SECOND: {
    schema: count(0, 100_000).default(5),
    help:
      'failed MQTT logins per second of one address or user name (bursts of 20 times that) before wrong ones are ' +
      'answered late; 0 disables the limit',
  },
  MQTT_MESSAGES_PER_SECOND: {
    schema: count(0, 1_000_000).default(500),
    help:
      'sustained messages per second of one device or user (bursts of four times that), each sample and event in ' +
      'them counted; beyond it they wait; 0 disables the limit',
  },
  MQTT_PACKET_BYTES: {
    schema: count(1_024, 1_048_576).default(65_536),
    help: 'largest MQTT payload; a larger one closes the connection',
  },
  MQTT_SLOW_READER_BYTES: {
    schema: count(65_536, 16_777_216).default(262_144),
    help: 'unread bytes after which a slow MQTT reader is cut off',
  },
  MQTT_IN_FLIGHT: {
    schema: count(1, 10_000).default(100),
    help: 'unacknowledged QoS 1 and 2 messages to or from a client',
  },
  MQTT_QUEUE_MESSAGES: {
    schema: count(1, 50_000).default(1_000),
    help: 'messages that may wait for one client; beyond it the oldest is dropped',
  },
  MQTT_QUEUE_BYTES: {
    schema: count(65_536, 1_073_741_824).default(1_048_576),
    help: 'bytes that may wait for one client; beyond it the oldest message is dropped',
  },
  MQTT_QUEUES_MESSAGES: {
    schema: count(1, 10_000_000).default(100_000),
    help: 'messages that may wait for all clients together; beyond it the user or device with most loses its oldest',
  },
  MQTT_QUEUES_BYTES: {
    schema: count(65_536, 17_179_869_184).default(67_108_864),
    help: 'bytes that may wait for all clients together; they are kept in memory too',
  },
  MQTT_RETAINED_MESSAGES: {
    schema: count(0, 10_000_000).default(10_000),
    help: 'retained messages outside dev/ and sit/; beyond it the oldest is dropped',
  },
  MQTT_RETAINED_BYTES: {
    schema: count(0, 17_179_869_184).default(16_777_216),
    help: 'bytes of retained messages outside dev/ and sit/',
  },
  MQTT_SESSION_DAYS: {
    schema: count(0, 3_650).default(30),
    help: 'days without a connection after which an MQTT session is deleted; 0: never',
  },
  MQTT_SUBSCRIPTIONS: { schema: count(1, 100_000).default(100), help: 'subscriptions of one MQTT client' },
  MQTT_TOPIC_LEVELS: { schema: count(3, 100).default(12), help: 'levels of an MQTT topic' },
  MQTT_CONNECT_TIMEOUT_S: {
    schema: count(1, 300).default(10),
    help: 'seconds within which a new MQTT connection must log in',
  },
} as const
