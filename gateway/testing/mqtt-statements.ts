/** Normative statement of MQTT 3.1.1, appendix B. */
interface Statement {
  /** Side that must comply; a server must reject some violations of statements that bind clients. */
  binds: 'client' | 'server' | 'both'
  /** Requirement in our own words. */
  text: string
  /** Deviation of the gateway if the statement is met only in part, and its reason. */
  except?: string
  /** Reason why no test can cover it. */
  untested?: string
}

const KEEPALIVE =
  'A keepalive below 5 s counts as 5 s: while the disk is behind nothing is read, and a client must not be cut ' +
  'off for that. Above 10 minutes, and 0, count as 10 minutes.'
const DUP_AFTER_RESTART =
  'A message that waits over a restart of the gateway is sent with DUP 1, also the first time: whether it was ' +
  'sent before is not written down.'
const OWN_CLIENT_ID =
  'A device has to use its user name as its client id, and nobody else may use it: other client ids are ' +
  'answered with return code 2.'
const OTHER_OWNER = 'A client id in use by another user is not taken over: the newcomer gets return code 2.'
const LIMITS =
  'Queues are bounded: the oldest messages of a client that is away or does not keep up make room, and a ' +
  'session that was not used for a month is forgotten.'
const SCOPE = 'What a user may not read is not delivered, though its filter takes it in. Queues are bounded.'
const RETAINED_LIMITS = 'Retained messages are bounded in number and size: the oldest make room.'
const RECEIVING_LIMIT =
  'A client that publishes a thousand QoS 2 messages without releasing one is disconnected; MQTT 3.1.1 has no ' +
  'other way to slow it down.'
const LEVEL_LIMIT = 'Topics and topic filters of more levels than a setting allows end the connection.'

/** Statements by id, without `MQTT-`. Ids that the standard misspells (3.1.2.7, 3-8.3-4) are corrected. */
export const STATEMENTS: Record<string, Statement> = {
  '1.5.3-1': {
    binds: 'both',
    text: 'Strings are well-formed UTF-8 without surrogates; others close the connection.',
  },
  '1.5.3-2': { binds: 'both', text: 'Strings hold no U+0000; one that does closes the connection.' },
  '1.5.3-3': { binds: 'both', text: 'A byte order mark in a string is U+FEFF and is not left out.' },
  '2.2.2-1': { binds: 'both', text: 'Reserved flag bits have the value of table 2.2.' },
  '2.2.2-2': { binds: 'both', text: 'Invalid flags close the connection.' },
  '2.3.1-1': {
    binds: 'client',
    text: 'SUBSCRIBE, UNSUBSCRIBE and PUBLISH above QoS 0 have a packet identifier above 0.',
  },
  '2.3.1-2': { binds: 'client', text: 'A new packet gets a packet identifier that is not in use.' },
  '2.3.1-3': { binds: 'client', text: 'A packet is re-sent with its own packet identifier.' },
  '2.3.1-4': { binds: 'server', text: 'The same holds for PUBLISH of a server.' },
  '2.3.1-5': { binds: 'both', text: 'PUBLISH of QoS 0 has no packet identifier.' },
  '2.3.1-6': {
    binds: 'both',
    text: 'PUBACK, PUBREC and PUBREL carry the packet identifier of their PUBLISH.',
  },
  '2.3.1-7': {
    binds: 'server',
    text: 'SUBACK and UNSUBACK carry the packet identifier of what they answer.',
  },

  '3.1.0-1': { binds: 'client', text: 'The first packet is CONNECT.' },
  '3.1.0-2': { binds: 'server', text: 'A second CONNECT is a violation that ends the connection.' },
  '3.1.2-1': { binds: 'server', text: 'A wrong protocol name is not processed as this protocol.' },
  '3.1.2-2': { binds: 'server', text: 'A level that is not supported gets return code 1 and the end.' },
  '3.1.2-3': { binds: 'server', text: 'The reserved connect flag has to be 0, or the connection is closed.' },
  '3.1.2-4': {
    binds: 'both',
    text: 'Clean session 0 takes up the session of the client id, or begins one; it is stored afterwards.',
    except: LIMITS,
  },
  '3.1.2-5': {
    binds: 'server',
    text: 'QoS 1 and 2 messages for a session whose client is away are stored.',
    except: LIMITS,
  },
  '3.1.2-6': {
    binds: 'both',
    text: 'Clean session 1 discards what was before and lasts as long as the connection.',
  },
  '3.1.2-7': { binds: 'server', text: 'Retained messages are no part of a session and outlive it.' },
  '3.1.2-8': {
    binds: 'server',
    text: 'A will is stored, and published when the connection ends without DISCONNECT.',
  },
  '3.1.2-9': {
    binds: 'both',
    text: 'With the will flag there are a will topic and message, and their QoS and retain count.',
  },
  '3.1.2-10': { binds: 'server', text: 'A will is removed once it is published or DISCONNECT has come.' },
  '3.1.2-11': { binds: 'client', text: 'Without the will flag nothing of a will is there.' },
  '3.1.2-12': { binds: 'server', text: 'Without the will flag no will is published.' },
  '3.1.2-13': { binds: 'client', text: 'Without the will flag will QoS is 0.' },
  '3.1.2-14': { binds: 'client', text: 'Will QoS is not 3.' },
  '3.1.2-15': { binds: 'client', text: 'Without the will flag will retain is 0.' },
  '3.1.2-16': { binds: 'server', text: 'A will without will retain is not retained.' },
  '3.1.2-17': { binds: 'server', text: 'A will with will retain is.' },
  '3.1.2-18': { binds: 'client', text: 'Without its flag there is no user name.' },
  '3.1.2-19': { binds: 'client', text: 'With its flag there is one.' },
  '3.1.2-20': { binds: 'client', text: 'Without its flag there is no password.' },
  '3.1.2-21': { binds: 'client', text: 'With its flag there is one.' },
  '3.1.2-22': { binds: 'client', text: 'Without a user name there is no password.' },
  '3.1.2-23': { binds: 'client', text: 'A client is not silent for longer than its keepalive.' },
  '3.1.2-24': {
    binds: 'server',
    text: 'A client that is silent for one and a half times its keepalive is disconnected.',
    except: KEEPALIVE,
  },
  '3.1.3-1': { binds: 'client', text: 'The fields of the payload come in their order.' },
  '3.1.3-2': { binds: 'both', text: 'The client id is what session state is held under.' },
  '3.1.3-3': { binds: 'client', text: 'The client id is there, and first.' },
  '3.1.3-4': { binds: 'client', text: 'The client id is UTF-8.' },
  '3.1.3-5': {
    binds: 'server',
    text: 'Client ids of 1 to 23 letters and digits are allowed.',
    except: OWN_CLIENT_ID,
  },
  '3.1.3-6': { binds: 'server', text: 'Where an empty client id is allowed, a unique one is assigned.' },
  '3.1.3-7': { binds: 'client', text: 'An empty client id goes with clean session 1.' },
  '3.1.3-8': {
    binds: 'server',
    text: 'An empty client id with clean session 0 gets return code 2 and the end.',
  },
  '3.1.3-9': { binds: 'server', text: 'A client id that is rejected gets return code 2 and the end.' },
  '3.1.3-10': { binds: 'client', text: 'The will topic is UTF-8.' },
  '3.1.3-11': { binds: 'client', text: 'The user name is UTF-8.' },
  '3.1.4-1': { binds: 'server', text: 'A CONNECT that does not conform is closed without CONNACK.' },
  '3.1.4-2': {
    binds: 'server',
    text: 'A client id that is connected already has its older connection closed.',
    except: OTHER_OWNER,
  },
  '3.1.4-3': { binds: 'server', text: 'A valid CONNECT has its clean session processed.' },
  '3.1.4-4': { binds: 'server', text: 'A valid CONNECT is answered with return code 0.' },
  '3.1.4-5': { binds: 'server', text: 'What comes behind a CONNECT that is rejected is not processed.' },
  '3.2.0-1': { binds: 'server', text: 'The first packet of the server is CONNACK.' },
  '3.2.2-1': { binds: 'server', text: 'Clean session 1 gets session present 0.' },
  '3.2.2-2': { binds: 'server', text: 'Clean session 0 gets session present 1 where a session is stored.' },
  '3.2.2-3': { binds: 'server', text: 'Where none is stored it gets 0.' },
  '3.2.2-4': { binds: 'server', text: 'With a return code other than 0 session present is 0.' },
  '3.2.2-5': { binds: 'server', text: 'After a return code other than 0 the connection is closed.' },
  '3.2.2-6': {
    binds: 'server',
    text: 'Where no return code fits, the connection is closed without CONNACK.',
    untested: 'Every refusal of a valid CONNECT has a return code that fits.',
  },

  '3.3.1-1': { binds: 'both', text: 'PUBLISH that is sent again has DUP 1.' },
  '3.3.1-2': { binds: 'both', text: 'QoS 0 has DUP 0.' },
  '3.3.1-3': {
    binds: 'server',
    text: 'DUP of what is sent says whether it is sent again, whatever the sender said.',
    except: DUP_AFTER_RESTART,
  },
  '3.3.1-4': { binds: 'both', text: 'QoS 3 closes the connection.' },
  '3.3.1-5': {
    binds: 'server',
    text: 'A retained message is stored with its QoS for later subscribers.',
    except: RETAINED_LIMITS,
  },
  '3.3.1-6': { binds: 'server', text: 'A new subscription is sent the retained messages that match.' },
  '3.3.1-7': { binds: 'server', text: 'A retained message of QoS 0 discards the one before.' },
  '3.3.1-8': { binds: 'server', text: 'What is sent for a new subscription has the retain flag.' },
  '3.3.1-9': { binds: 'server', text: 'What is sent for an established one has not.' },
  '3.3.1-10': {
    binds: 'server',
    text: 'A retained message without payload is delivered and takes the stored one away.',
  },
  '3.3.1-11': { binds: 'server', text: 'It is not stored itself.' },
  '3.3.1-12': {
    binds: 'server',
    text: 'A message without the retain flag neither is stored nor changes what is.',
  },
  '3.3.2-1': { binds: 'both', text: 'PUBLISH begins with its topic, in UTF-8.' },
  '3.3.2-2': { binds: 'both', text: 'A topic has no wildcard.' },
  '3.3.2-3': { binds: 'server', text: 'The topic of what is sent matches a filter of the subscriber.' },
  '3.3.4-1': { binds: 'both', text: 'PUBLISH is answered as its QoS asks for.' },
  '3.3.5-1': { binds: 'server', text: 'Overlapping subscriptions: the highest of their QoS counts.' },
  '3.3.5-2': {
    binds: 'server',
    text: 'A PUBLISH that is not allowed is acknowledged, or ends the connection.',
  },
  '3.6.1-1': { binds: 'both', text: 'PUBREL has the flags 0010; others close the connection.' },
  '3.8.1-1': { binds: 'both', text: 'SUBSCRIBE has the flags 0010; others close the connection.' },
  '3.8.3-1': { binds: 'client', text: 'The filters of SUBSCRIBE are UTF-8.' },
  '3.8.3-2': { binds: 'server', text: 'A server without wildcards rejects filters that have them.' },
  '3.8.3-3': { binds: 'both', text: 'SUBSCRIBE has at least one filter.' },
  '3.8.3-4': { binds: 'server', text: 'QoS 3 or reserved bits in SUBSCRIBE close the connection.' },
  '3.8.4-1': { binds: 'server', text: 'SUBSCRIBE is answered by SUBACK.' },
  '3.8.4-2': { binds: 'server', text: 'SUBACK has the packet identifier of SUBSCRIBE.' },
  '3.8.4-3': {
    binds: 'server',
    text: 'The same filter again replaces the subscription and sends what is retained again.',
  },
  '3.8.4-4': {
    binds: 'server',
    text: 'Several filters are handled as several SUBSCRIBE, but for the one SUBACK.',
  },
  '3.8.4-5': { binds: 'server', text: 'SUBACK has a code for each filter.' },
  '3.8.4-6': { binds: 'server', text: 'What is sent has the lower of its QoS and the granted one.' },
  '3.9.3-1': { binds: 'server', text: 'The codes of SUBACK are in the order of the filters.' },
  '3.9.3-2': { binds: 'server', text: 'The codes are 0, 1, 2 and 128.' },
  '3.10.1-1': { binds: 'both', text: 'UNSUBSCRIBE has the flags 0010; others close the connection.' },
  '3.10.3-1': { binds: 'client', text: 'The filters of UNSUBSCRIBE are UTF-8.' },
  '3.10.3-2': { binds: 'both', text: 'UNSUBSCRIBE has at least one filter.' },
  '3.10.4-1': {
    binds: 'server',
    text: 'Filters are compared character by character; what is equal is ended.',
  },
  '3.10.4-2': { binds: 'server', text: 'Nothing new is added for a subscription that has ended.' },
  '3.10.4-3': { binds: 'server', text: 'What has been begun to be sent is completed.' },
  '3.10.4-4': { binds: 'server', text: 'UNSUBSCRIBE is answered by UNSUBACK with its packet identifier.' },
  '3.10.4-5': { binds: 'server', text: 'Also where nothing was subscribed to.' },
  '3.10.4-6': {
    binds: 'server',
    text: 'Several filters are handled as several UNSUBSCRIBE, but for the one UNSUBACK.',
  },
  '3.12.4-1': { binds: 'server', text: 'PINGREQ is answered by PINGRESP.' },
  '3.14.1-1': {
    binds: 'server',
    text: 'Reserved bits of DISCONNECT have to be 0, or the connection is closed.',
  },
  '3.14.4-1': { binds: 'client', text: 'After DISCONNECT the client closes the connection.' },
  '3.14.4-2': { binds: 'client', text: 'After DISCONNECT the client sends nothing.' },
  '3.14.4-3': { binds: 'server', text: 'DISCONNECT discards the will.' },

  '4.1.0-1': { binds: 'both', text: 'Session state is kept for as long as the session lasts.' },
  '4.1.0-2': { binds: 'both', text: 'A session lasts at least as long as its connection.' },
  '4.3.1-1': { binds: 'both', text: 'QoS 0 is sent with DUP 0.' },
  '4.3.2-1': {
    binds: 'both',
    text: 'The sender of QoS 1 uses a free packet identifier, DUP 0, and waits for PUBACK.',
    except: DUP_AFTER_RESTART,
  },
  '4.3.2-2': {
    binds: 'both',
    text: 'The receiver of QoS 1 answers PUBACK; the packet identifier is free after it.',
  },
  '4.3.3-1': {
    binds: 'both',
    text:
      'The sender of QoS 2 uses a free packet identifier, DUP 0, PUBREL after PUBREC, and PUBLISH never after ' +
      'PUBREL.',
    except: DUP_AFTER_RESTART,
  },
  '4.3.3-2': {
    binds: 'both',
    text: 'The receiver of QoS 2 answers PUBREC, passes each on once, and PUBREL with PUBCOMP.',
    except: RECEIVING_LIMIT,
  },
  '4.4.0-1': {
    binds: 'both',
    text: 'What is not acknowledged is sent again on reconnect, under its packet identifier.',
  },
  '4.5.0-1': {
    binds: 'server',
    text: 'A message that is taken is added to the sessions of all who have subscribed.',
    except: SCOPE,
  },
  '4.5.0-2': { binds: 'client', text: 'A client acknowledges what it gets, whether it wants it or not.' },
  '4.6.0-1': { binds: 'client', text: 'PUBLISH is sent again in the order it was sent in.' },
  '4.6.0-2': { binds: 'client', text: 'PUBACK is sent in the order of PUBLISH.' },
  '4.6.0-3': { binds: 'client', text: 'PUBREC is sent in the order of PUBLISH.' },
  '4.6.0-4': { binds: 'client', text: 'PUBREL is sent in the order of PUBREC.' },
  '4.6.0-5': { binds: 'server', text: 'Topics are ordered unless somebody has set them otherwise.' },
  '4.6.0-6': {
    binds: 'server',
    text: 'An ordered topic keeps these rules, and the order of each sender for a QoS.',
  },
  '4.7.1-1': { binds: 'both', text: 'Wildcards are for filters, not for topics.' },
  '4.7.1-2': { binds: 'client', text: '# is a whole level, and the last.' },
  '4.7.1-3': { binds: 'client', text: '+ is a whole level.' },
  '4.7.2-1': {
    binds: 'server',
    text: 'Filters that begin with a wildcard do not match topics that begin with $.',
  },
  '4.7.3-1': { binds: 'both', text: 'Topics and filters have at least one character.' },
  '4.7.3-2': { binds: 'both', text: 'Topics and filters hold no U+0000.' },
  '4.7.3-3': {
    binds: 'both',
    text: 'Topics and filters have at most 65,535 bytes.',
    except: LEVEL_LIMIT,
  },
  '4.7.3-4': { binds: 'server', text: 'Topics and filters are matched as they are, without normalization.' },
  '4.8.0-1': { binds: 'both', text: 'A protocol violation closes the connection.' },
  '4.8.0-2': {
    binds: 'both',
    text: 'A transient error closes the connection of the packet it befell.',
  },

  '6.0.0-1': { binds: 'both', text: 'Packets come in binary frames; others close the connection.' },
  '6.0.0-2': { binds: 'both', text: 'Packets may begin and end anywhere in a frame.' },
  '6.0.0-3': { binds: 'client', text: 'The sub-protocol mqtt is offered.' },
  '6.0.0-4': { binds: 'server', text: 'The sub-protocol mqtt is the one that is answered.' },
  '7.0.0-1': {
    binds: 'server',
    text: 'A server that connects to other servers conforms as a client as well.',
    untested: 'The gateway connects to no other MQTT server.',
  },
  '7.0.0-2': {
    binds: 'both',
    text: 'No extension is needed to get along.',
  },
  '7.1.1-1': { binds: 'server', text: 'A server supports a transport that is ordered and lossless.' },
  '7.1.2-1': { binds: 'client', text: 'A client supports one.' },
}
