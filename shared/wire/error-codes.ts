/**
 * Every `code` an error answer can carry, with its status and what to do about it. Codes are stable: a program may
 * branch on them, never on `detail`.
 */
export const ERROR_CODES: Readonly<Record<string, { status: number; otherStatus?: number; meaning: string }>> = {
  invalid_request: { status: 400, meaning: 'The request cannot be read as HTTP or does not fit its route.' },
  invalid_json: { status: 400, meaning: 'The body is not JSON in UTF-8.' },
  invalid_body: { status: 400, meaning: 'The body is JSON, but not an object.' },
  missing_field: { status: 400, meaning: 'A field of the body is required.' },
  invalid_field: { status: 400, meaning: 'A field has the wrong type or is out of range.' },
  unknown_field: { status: 400, meaning: 'A field this request does not have: most likely a misspelt one.' },
  missing_parameter: { status: 400, meaning: 'A parameter is required, or required together with another.' },
  invalid_parameter: { status: 400, meaning: 'A parameter is none of the values it may have.' },
  invalid_number: { status: 400, meaning: 'Not a whole number in digits, or out of range.' },
  invalid_month: { status: 400, meaning: 'Not a month, as 2026-05.' },
  invalid_date: { status: 400, meaning: 'Not an ISO 8601 date.' },
  invalid_time_zone: { status: 400, meaning: 'No time zone of the IANA database.' },
  invalid_opening_hours: {
    status: 400,
    meaning: 'Not null and not an object of days, each with opening and a later closing as HH:MM.',
  },
  invalid_url: { status: 400, meaning: 'No http or https address, or one with a user in it.' },
  invalid_range: { status: 400, meaning: 'from is after to.' },
  range_too_large: {
    status: 400,
    meaning: 'More than 31 days; more than 25 hours of a track, or two of a replay.',
  },
  too_many_devices: {
    status: 400,
    meaning: 'More devices than one request may name: 50, for active trips 500.',
  },
  too_many_positions: {
    status: 400,
    meaning:
      'More than 4 million positions of one device in the range, or more than one track or replay may have: ' +
      'choose a shorter one.',
  },
  too_many_trips: {
    status: 400,
    meaning: 'More trips and stops than one answer can hold: choose a shorter range, fewer devices or higher minima.',
  },
  empty_list: { status: 400, meaning: 'A list that is given must not be empty.' },
  invalid_format: { status: 400, meaning: 'No format this history can be written in.' },
  invalid_status: { status: 400, meaning: 'No status a command can have.' },
  invalid_attribute_name: {
    status: 400,
    meaning: 'attr_ must be followed by 1 to 64 letters, digits or underscores.',
  },
  too_large: { status: 400, meaning: 'More than a device can be sent.' },
  unknown_group: { status: 400, meaning: 'The body names a group that does not exist.' },
  unknown_device_type: { status: 400, meaning: 'No such device type; the detail names those there are.' },
  unknown_command: {
    status: 400,
    meaning: 'The device type has no such command; the detail names those it has.',
  },
  unsupported_command: { status: 400, meaning: 'The device type cannot do this.' },
  no_group: { status: 400, meaning: 'The device is in no group, and the command needs one.' },
  invalid_import: {
    status: 400,
    meaning: 'Lines of the file are wrong; errors names them, and nothing was imported.',
  },
  missing_column: { status: 400, meaning: 'The first line of the file must name this column.' },
  unknown_column: {
    status: 400,
    meaning: 'A column that this file does not have: most likely a misspelt one.',
  },
  too_many_records: { status: 400, meaning: 'More than 5,000 records in one import.' },
  too_many_zones: {
    status: 400,
    meaning: 'More than 100 zones for the devices of a group, or more than 500 of the site.',
  },
  too_many_points: { status: 400, meaning: 'More than 200 points in one zone.' },
  invalid_position: { status: 400, meaning: 'Longitude, then latitude, in degrees: out of range.' },
  too_few_points: { status: 400, meaning: 'A ring needs at least three different points.' },
  self_crossing: { status: 400, meaning: 'A ring crosses or touches itself.' },
  zero_area: { status: 400, meaning: 'The points of a ring are in one line.' },
  crosses_antimeridian: { status: 400, meaning: 'A zone must not cross 180 degrees of longitude.' },
  holes_not_supported: { status: 400, meaning: 'A zone has one ring.' },
  unsupported_geometry: { status: 400, meaning: 'A zone is a Polygon, or a Point with radius_m.' },
  duplicate_id: {
    status: 400,
    meaning: 'Two zones have the same id, also one of the site and one of a group.',
  },
  invalid_course: {
    status: 400,
    meaning:
      'The drawing is no GeoJSON in degrees with anything of a golf course in it; errors[].code says what is wrong.',
  },
  invalid_image: {
    status: 400,
    meaning: 'No JPEG, PNG or WebP, a broken one, or more than 50 million pixels.',
  },
  missing_api_key: { status: 401, meaning: 'Send your key in the header X-API-Key.' },
  invalid_api_key: { status: 401, meaning: 'No user has this key: it was mistyped, rotated or deleted.' },
  user_inactive: {
    status: 401,
    otherStatus: 409,
    meaning: 'The user is disabled; 409 where somebody is to sign in as it.',
  },
  invalid_session: {
    status: 401,
    meaning: 'The session is over: signed out, ended or expired. Sign in again.',
  },
  invalid_code: {
    status: 401,
    meaning: 'The code or the request for access is wrong, expired, or was used already.',
  },
  invalid_token: { status: 401, meaning: 'The download token is missing, wrong or expired.' },
  admin_required: { status: 403, meaning: 'Only for admins.' },
  metrics_only: {
    status: 403,
    meaning: 'The user has the role metrics: its key reads GET /metrics, and nobody signs in as it.',
  },
  staff_required: { status: 403, meaning: 'Only for staff and admins.' },
  cart_forbidden: { status: 403, meaning: 'No device of the cart is in the scope of this user.' },
  device_forbidden: { status: 403, meaning: 'The device is not in the scope of this user.' },
  foreign_origin: {
    status: 403,
    meaning: 'A request with a cookie that may change something needs the Origin of this gateway.',
  },
  wrong_pin: { status: 403, meaning: 'The PIN is wrong, or there is no such person with a PIN.' },
  not_allowed_yet: { status: 403, meaning: 'No admin has allowed the request for access yet.' },
  group_forbidden: { status: 403, meaning: 'The download token is for another group.' },
  not_found: { status: 404, meaning: 'There is nothing at this path.' },
  cart_not_found: {
    status: 404,
    meaning: 'No cart is called so, and no device of one has this hardware_id.',
  },
  device_not_found: { status: 404, meaning: 'No device has this hardware_id or short_id.' },
  user_not_found: { status: 404, meaning: 'No such user.' },
  session_not_found: { status: 404, meaning: 'No such session, or the request came with a key.' },
  request_not_found: { status: 404, meaning: 'No such request for access, or it has expired.' },
  webhook_not_found: { status: 404, meaning: 'No such webhook.' },
  notifier_not_found: { status: 404, meaning: 'No such notifier.' },
  client_not_found: { status: 404, meaning: 'No such MQTT client, connected or away.' },
  photo_not_found: { status: 404, meaning: 'There is no photo of the course.' },
  group_not_found: { status: 404, meaning: 'No such group.' },
  device_not_in_group: { status: 404, meaning: 'The device is in another group, or in none.' },
  device_type_not_found: { status: 404, meaning: 'No such device type.' },
  command_not_found: { status: 404, meaning: 'No such command.' },
  alert_not_found: { status: 404, meaning: 'No such alert.' },
  no_recall: { status: 404, meaning: 'The carts are not called in.' },
  no_telemetry: { status: 404, meaning: 'The device has not reported this yet.' },
  method_not_allowed: { status: 405, meaning: 'The path exists, the method does not; see the Allow header.' },
  request_timeout: { status: 408, meaning: 'The request took too long to arrive.' },
  device_exists: { status: 409, meaning: 'A device has this hardware_id or a short_id like it.' },
  group_exists: { status: 409, meaning: 'The group_id is taken.' },
  too_complex: {
    status: 400,
    meaning: 'It would take too long to work out: the body or file needs fewer or simpler parts.',
  },
  no_course: { status: 409, meaning: 'There is no drawing of the course yet.' },
  recall_active: { status: 409, meaning: 'All carts are called in already: end that first.' },
  backup_running: { status: 409, meaning: 'A backup is being made already.' },
  no_backup_target: {
    status: 409,
    meaning: 'The gateway has no CARTBARN_BACKUP_TO: there are no nightly backups.',
  },
  no_enrolment_key: {
    status: 409,
    meaning: 'The gateway has no CARTBARN_ENROLMENT_KEY: no device can enrol.',
  },
  no_group_id_left: { status: 409, meaning: 'The highest group_id is taken: choose one that is free.' },
  group_not_empty: { status: 409, meaning: 'Devices are still in the group.' },
  last_admin: { status: 409, meaning: 'The change would leave no active admin.' },
  clock_not_set: {
    status: 409,
    meaning: 'The clock of the gateway cannot be right, so nothing is deleted by age.',
  },
  clock_unconfirmed: {
    status: 409,
    meaning:
      'The clock of the gateway is further on than what is known to have gone by, so nothing is deleted by age: ' +
      'set it, or confirm it with POST /clock/confirm.',
  },
  clock_differs: {
    status: 409,
    meaning: 'The clock of the gateway is more than two minutes off the given time: set it first.',
  },
  unknown_receipt: {
    status: 409,
    meaning: 'No receipt of the last file for the head office that this gateway wrote.',
  },
  other_site: { status: 409, meaning: 'The database is replicated as another site.' },
  other_machine: {
    status: 409,
    meaning: 'The data was used on another machine: POST /machine/confirm, or the command new-site, says what this is.',
  },
  sync_not_configured: { status: 409, meaning: 'The gateway has no head office.' },
  idempotency_key_reused: { status: 409, meaning: 'The Idempotency-Key was used for another request.' },
  command_not_finished: { status: 409, meaning: 'Only a command that failed or timed out is sent again.' },
  command_completed: { status: 409, meaning: 'The command was done: there is nothing to repeat.' },
  cart_is_moving: {
    status: 409,
    meaning: 'The cart drives: it is not locked now. An admin may force it.',
  },
  no_parking_zone: {
    status: 409,
    meaning: 'No cart in the scope has a parking zone, so none is known to be in the barn.',
  },
  too_many_webhooks: { status: 409, meaning: 'There are 20 webhooks already.' },
  too_many_notifiers: { status: 409, meaning: 'There are 20 notifiers already.' },
  no_smtp: {
    status: 409,
    meaning: 'The gateway has no mail server: set CARTBARN_SMTP_URL and CARTBARN_SMTP_FROM.',
  },
  too_many_commands: { status: 409, meaning: 'Too many commands are still waiting.' },
  person_changed: {
    status: 409,
    meaning: 'Another person acts on the tablet since the request was made: nothing was done.',
  },
  zone_not_found: { status: 404, meaning: 'The site has no zone with this id.' },
  version_not_found: { status: 404, meaning: 'No set of zones with this version is kept.' },
  zones_changed: {
    status: 412,
    meaning: 'The zones are not those of If-Match any more: GET them, and make the change to them.',
  },
  precondition_required: {
    status: 428,
    meaning: 'Send the ETag of what you change as If-Match, or * to change it whatever it is.',
  },
  payload_too_large: { status: 413, meaning: 'The body is too large; the detail says how large it may be.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'Send the body as application/json, without Content-Encoding.',
  },
  expectation_failed: { status: 417, meaning: 'The only Expect that is known is 100-continue.' },
  rate_limited: {
    status: 429,
    meaning: 'Too many requests, or too many failed keys; wait Retry-After seconds.',
  },
  too_many_requests: {
    status: 429,
    meaning: 'Too many requests for access wait already; wait Retry-After seconds.',
  },
  pin_locked: { status: 429, meaning: 'Too many wrong PINs; wait Retry-After seconds.' },
  too_many_downloads: {
    status: 429,
    meaning: 'The user has as many long histories under way as it may; wait Retry-After seconds.',
  },
  internal_error: { status: 500, meaning: 'A fault of the gateway. Its log has the request_id.' },
  headers_too_large: { status: 431, meaning: 'The head of a request may have at most 16 KB.' },
  upgrading: {
    status: 503,
    meaning: 'The gateway is being upgraded, and answers in some seconds or minutes. GET /health says how far it is.',
  },
  store_unavailable: {
    status: 503,
    meaning: 'Nothing can be stored now, as with a full disk; try again later.',
  },
  store_damaged: {
    status: 503,
    meaning:
      'What the request needs is damaged on the disk; other requests work. An admin finds in GET /health what it is.',
  },
}
