/**
 * Codes of error responses with status and remedy. Codes are stable: programs may branch on them, never on `detail`.
 */
export const ERROR_CODES: Readonly<Record<string, { status: number; otherStatus?: number; meaning: string }>> = {
  invalid_request: { status: 400, meaning: 'The request is not valid HTTP or does not match its route.' },
  invalid_json: { status: 400, meaning: 'The body is not JSON in UTF-8.' },
  invalid_body: { status: 400, meaning: 'The body is valid JSON, but not an object.' },
  missing_field: { status: 400, meaning: 'A required field of the body is missing.' },
  invalid_field: { status: 400, meaning: 'A field has the wrong type or is out of range.' },
  unknown_field: { status: 400, meaning: 'The request has no such field; it is probably misspelt.' },
  missing_parameter: {
    status: 400,
    meaning: 'A required parameter is missing, or one that is required together with another.',
  },
  invalid_parameter: { status: 400, meaning: 'A parameter has none of its permitted values.' },
  invalid_number: { status: 400, meaning: 'Not a whole number in digits, or out of range.' },
  invalid_month: { status: 400, meaning: 'Not a month; use the form 2026-05.' },
  invalid_date: { status: 400, meaning: 'Not an ISO 8601 date.' },
  invalid_time_zone: { status: 400, meaning: 'Not a time zone of the IANA database.' },
  invalid_opening_hours: {
    status: 400,
    meaning: 'Invalid opening hours; use null, or an object of days, each with opening and a later closing as HH:MM.',
  },
  invalid_url: { status: 400, meaning: 'Not an http or https address, or one that contains a user.' },
  invalid_range: { status: 400, meaning: 'from is after to.' },
  range_too_large: {
    status: 400,
    meaning: 'The range is too long: at most 31 days, 25 hours for a track, two hours for a replay.',
  },
  too_many_devices: {
    status: 400,
    meaning: 'Too many devices in one request: at most 50, for active trips 500.',
  },
  too_many_positions: {
    status: 400,
    meaning:
      'The range has more than 4 million positions of one device, or too many for one track or replay: choose a ' +
      'shorter one.',
  },
  too_many_trips: {
    status: 400,
    meaning: 'More trips and stops than one response can hold: choose a shorter range, fewer devices or higher minima.',
  },
  empty_list: { status: 400, meaning: 'The list is empty; omit it or name at least one item.' },
  invalid_format: { status: 400, meaning: 'Unsupported format; use json, csv, geojson or gpx.' },
  invalid_status: { status: 400, meaning: 'Not a status of a command.' },
  invalid_attribute_name: {
    status: 400,
    meaning: 'attr_ must be followed by 1 to 64 letters, digits or underscores.',
  },
  too_large: { status: 400, meaning: 'The configuration is too large for a device.' },
  unknown_group: { status: 400, meaning: 'The body names a group that does not exist.' },
  unknown_device_type: { status: 400, meaning: 'Unknown device type; the detail lists the existing ones.' },
  unknown_command: {
    status: 400,
    meaning: 'The device type has no such command; the detail lists its commands.',
  },
  unsupported_command: { status: 400, meaning: 'The device type does not support this.' },
  no_group: { status: 400, meaning: 'The device is in no group, but the command requires one.' },
  invalid_import: {
    status: 400,
    meaning: 'Lines of the file are invalid; errors lists them, and nothing was imported.',
  },
  missing_column: { status: 400, meaning: 'The first line of the file lacks this column.' },
  unknown_column: {
    status: 400,
    meaning: 'The file has an unknown column; it is probably misspelt.',
  },
  too_many_records: { status: 400, meaning: 'More than 5,000 records in one import.' },
  too_many_zones: {
    status: 400,
    meaning: 'More than 100 zones for the devices of a group, or more than 500 for the site.',
  },
  too_many_points: { status: 400, meaning: 'More than 200 points in one zone.' },
  invalid_position: { status: 400, meaning: 'Coordinates out of range; use longitude, then latitude, in degrees.' },
  too_few_points: { status: 400, meaning: 'A ring needs at least three different points.' },
  self_crossing: { status: 400, meaning: 'A ring crosses or touches itself.' },
  zero_area: { status: 400, meaning: 'All points of a ring are on one line.' },
  crosses_antimeridian: { status: 400, meaning: 'A zone must not cross the 180th meridian.' },
  holes_not_supported: { status: 400, meaning: 'A zone must have exactly one ring.' },
  unsupported_geometry: { status: 400, meaning: 'A zone must be a Polygon, or a Point with radius_m.' },
  duplicate_id: {
    status: 400,
    meaning: 'Two zones have the same id, or two ready texts; ids of zones are unique across the site and all groups.',
  },
  invalid_course: {
    status: 400,
    meaning: 'The course map is not GeoJSON in degrees with features of a golf course; errors[].code names the reason.',
  },
  invalid_image: {
    status: 400,
    meaning: 'Not a JPEG, PNG or WebP, or a broken one, or more than 50 million pixels.',
  },
  missing_api_key: { status: 401, meaning: 'Send your key in the header X-API-Key.' },
  invalid_api_key: { status: 401, meaning: 'No user has this key: it is misspelt, or was rotated or deleted.' },
  user_inactive: {
    status: 401,
    otherStatus: 409,
    meaning: 'The user is disabled; 409 for an attempt to sign in as this user.',
  },
  invalid_session: {
    status: 401,
    meaning: 'The session has ended: signed out, closed or expired. Sign in again.',
  },
  invalid_code: {
    status: 401,
    meaning: 'The code or the access request is wrong, expired or already used.',
  },
  invalid_token: { status: 401, meaning: 'The download token is missing, invalid or expired.' },
  admin_required: { status: 403, meaning: 'Only for admins.' },
  metrics_only: {
    status: 403,
    meaning: 'The user has the role metrics: its key only reads GET /metrics, and signing in is not possible.',
  },
  staff_required: { status: 403, meaning: 'Only for staff and admins.' },
  cart_forbidden: { status: 403, meaning: 'No device of the cart is in the scope of this user.' },
  device_forbidden: { status: 403, meaning: 'The device is not in the scope of this user.' },
  foreign_origin: {
    status: 403,
    meaning: 'A request with a cookie that may change data needs the Origin of this gateway.',
  },
  wrong_pin: { status: 403, meaning: 'The PIN is wrong, or there is no such person with a PIN.' },
  not_allowed_yet: { status: 403, meaning: 'No admin has approved the access request yet.' },
  group_forbidden: { status: 403, meaning: 'The download token is for another group.' },
  not_found: { status: 404, meaning: 'Nothing exists at this path.' },
  cart_not_found: {
    status: 404,
    meaning: 'No cart has this name, and no device without a cart has this hardware_id.',
  },
  device_not_found: { status: 404, meaning: 'No device has this hardware_id or short_id.' },
  user_not_found: { status: 404, meaning: 'No such user.' },
  session_not_found: { status: 404, meaning: 'No such session, or the request used a key.' },
  request_not_found: { status: 404, meaning: 'No such access request, or it has expired.' },
  webhook_not_found: { status: 404, meaning: 'No such webhook.' },
  notifier_not_found: { status: 404, meaning: 'No such notifier.' },
  client_not_found: { status: 404, meaning: 'No such MQTT client, connected or with a kept session.' },
  photo_not_found: { status: 404, meaning: 'The course has no photo.' },
  group_not_found: { status: 404, meaning: 'No such group.' },
  device_not_in_group: { status: 404, meaning: 'The device is in another group, or in none.' },
  device_type_not_found: { status: 404, meaning: 'No such device type.' },
  command_not_found: { status: 404, meaning: 'No such command.' },
  alert_not_found: { status: 404, meaning: 'No such alert.' },
  no_recall: { status: 404, meaning: 'No recall is active.' },
  no_telemetry: { status: 404, meaning: 'The device has not reported this yet.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method; see the Allow header.' },
  request_timeout: { status: 408, meaning: 'The request took too long to arrive.' },
  device_exists: { status: 409, meaning: 'Another device has this hardware_id, or a short_id equal to it.' },
  group_exists: { status: 409, meaning: 'The group_id is already in use.' },
  too_complex: {
    status: 400,
    meaning: 'The request is too complex: send fewer or simpler parts in the body or file.',
  },
  no_course: { status: 409, meaning: 'There is no course map yet.' },
  recall_active: { status: 409, meaning: 'A recall is already active: end it first.' },
  backup_running: { status: 409, meaning: 'A backup is already in progress.' },
  set_up_only: {
    status: 403,
    meaning: 'Only the browser that sets up the gateway, or a key of an admin, may do this.',
  },
  not_new: {
    status: 409,
    meaning: 'The gateway is no longer new: it has devices, or its set-up is over. Stop it and use `cartbarn restore`.',
  },
  wrong_offset: {
    status: 409,
    meaning: 'A piece of an upload does not continue it; `detail` has the expected offset.',
  },
  no_space: { status: 409, meaning: 'The disk of the gateway has not enough space for the upload.' },
  restoring: { status: 409, meaning: 'A backup is already being restored.' },
  restore_not_found: { status: 404, meaning: 'No restore has this id, or it ended more than an hour ago.' },
  listing_backups: { status: 409, meaning: 'Another request is still listing the backups of a place.' },
  backup_unreadable: {
    status: 409,
    meaning: 'The place cannot be read, or the passphrase is wrong, or it has no backups; `detail` has the reason.',
  },
  no_certificate: {
    status: 409,
    meaning: 'The gateway has no certificate that could be renewed.',
  },
  no_backup_target: {
    status: 409,
    meaning: 'The gateway has no CARTBARN_BACKUP_TO: there are no nightly backups.',
  },
  no_enrolment_key: {
    status: 409,
    meaning: 'The gateway has no CARTBARN_ENROLMENT_KEY: no device can enrol.',
  },
  no_group_id_left: { status: 409, meaning: 'The highest group_id is in use: choose a free one.' },
  group_not_empty: { status: 409, meaning: 'The group still has devices.' },
  last_admin: { status: 409, meaning: 'The change would leave no active admin.' },
  clock_not_set: {
    status: 409,
    meaning: 'The clock of the gateway is certainly wrong, so nothing is deleted by age.',
  },
  clock_unconfirmed: {
    status: 409,
    meaning:
      'The clock of the gateway is ahead of the time that is known to have passed, so nothing is deleted by age: ' +
      'set it, or confirm it with POST /clock/confirm.',
  },
  clock_differs: {
    status: 409,
    meaning: 'The clock of the gateway deviates from the given time by more than two minutes: set it first.',
  },
  unknown_receipt: {
    status: 409,
    meaning: 'Not a receipt of the last file for the head office that this gateway wrote.',
  },
  other_site: { status: 409, meaning: 'The database is already replicated as another site.' },
  other_machine: {
    status: 409,
    meaning:
      'The data was used on another gateway computer: resolve this with POST /machine/confirm or the command new-site.',
  },
  sync_not_configured: { status: 409, meaning: 'The gateway has no head office configured.' },
  idempotency_key_reused: { status: 409, meaning: 'The Idempotency-Key was used for a different request.' },
  command_not_finished: { status: 409, meaning: 'Only a command that failed or timed out can be repeated.' },
  command_completed: { status: 409, meaning: 'The command has completed: there is nothing to repeat.' },
  cart_is_moving: {
    status: 409,
    meaning: 'The cart is moving and is not locked now. An admin may force it.',
  },
  no_parking_zone: {
    status: 409,
    meaning: 'No cart in the scope has a parking zone, so no cart is known to be in the barn.',
  },
  too_many_webhooks: { status: 409, meaning: 'The limit of 20 webhooks is reached.' },
  too_many_notifiers: { status: 409, meaning: 'The limit of 20 notifiers is reached.' },
  no_smtp: {
    status: 409,
    meaning: 'The gateway has no mail server: set CARTBARN_SMTP_URL and CARTBARN_SMTP_FROM.',
  },
  too_many_commands: { status: 409, meaning: 'Too many commands are pending.' },
  person_changed: {
    status: 409,
    meaning: 'Another person has signed in on the tablet since the request was made: nothing was done.',
  },
  zone_not_found: { status: 404, meaning: 'The site has no zone with this id.' },
  version_not_found: { status: 404, meaning: 'No zone set with this version is kept.' },
  zones_changed: {
    status: 412,
    meaning: 'The zones have changed since the version in If-Match: GET them again and repeat the change.',
  },
  precondition_required: {
    status: 428,
    meaning: 'If-Match is missing: send the ETag of the version to change, or * to overwrite any version.',
  },
  payload_too_large: { status: 413, meaning: 'The body is too large; the detail contains the limit.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'Send the body as application/json, without Content-Encoding.',
  },
  expectation_failed: { status: 417, meaning: 'Unsupported Expect header; only 100-continue is supported.' },
  rate_limited: {
    status: 429,
    meaning: 'Too many requests, or too many invalid keys; wait Retry-After seconds.',
  },
  too_many_requests: {
    status: 429,
    meaning: 'Too many access requests are waiting; wait Retry-After seconds.',
  },
  pin_locked: { status: 429, meaning: 'Too many wrong PINs; wait Retry-After seconds.' },
  too_many_downloads: {
    status: 429,
    meaning: 'The user has reached its limit of concurrent history downloads; wait Retry-After seconds.',
  },
  internal_error: { status: 500, meaning: 'Internal fault of the gateway. Its log contains the request_id.' },
  headers_too_large: { status: 431, meaning: 'The head of the request exceeds 16 KB.' },
  upgrading: {
    status: 503,
    meaning:
      'The gateway is being upgraded and will respond in some seconds or minutes. GET /health shows the progress.',
  },
  store_unavailable: {
    status: 503,
    meaning: 'Nothing can be stored now, for example because the disk is full; try again later.',
  },
  store_damaged: {
    status: 503,
    meaning: 'Required data is damaged on the disk; other requests work. GET /health shows details to admins.',
  },
}
