import type { ErrorCodes } from '#shared/http/openapi.ts'
import { ERROR_CODES } from '#shared/wire/error-codes.ts'

/** Error codes that the hub shares with gateways. */
const SHARED_CODES = [
  'invalid_request',
  'invalid_json',
  'invalid_body',
  'missing_field',
  'invalid_field',
  'unknown_field',
  'missing_parameter',
  'invalid_parameter',
  'invalid_number',
  'invalid_date',
  'invalid_range',
  'range_too_large',
  'too_many_devices',
  'too_many_positions',
  'too_many_trips',
  'empty_list',
  'invalid_format',
  'invalid_status',
  'invalid_attribute_name',
  'too_large',
  'too_many_zones',
  'too_many_points',
  'holes_not_supported',
  'unsupported_geometry',
  'missing_api_key',
  'invalid_api_key',
  'user_inactive',
  'admin_required',
  'not_found',
  'alert_not_found',
  'cart_not_found',
  'device_not_found',
  'user_not_found',
  'no_telemetry',
  'photo_not_found',
  'method_not_allowed',
  'last_admin',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'expectation_failed',
  'headers_too_large',
  'rate_limited',
  'too_many_downloads',
  'internal_error',
  'store_unavailable',
]

const OWN_CODES: ErrorCodes = {
  operator_required: { status: 403, meaning: 'Only for operators and admins.' },
  site_forbidden: { status: 403, meaning: 'The site is not in the scope of this user.' },
  site_not_found: { status: 404, meaning: 'No site has this site_id.' },
  intent_not_found: { status: 404, meaning: 'The site has no intent with this id.' },
  device_not_restored: {
    status: 409,
    meaning: 'The gateway of the site has this device: it is deleted there, not here.',
  },
  quarantine_not_found: { status: 404, meaning: 'The quarantine of the site has no piece with this id.' },
  invalid_file: { status: 400, meaning: 'The body is not a complete file of GET /sync/export.' },
  wrong_site: { status: 403, meaning: 'The file belongs to another site.' },
  cursor: {
    status: 409,
    meaning: 'The file does not continue at the cursors of the hub: export a new file from the gateway.',
  },
  foreign_epoch: {
    status: 409,
    meaning: 'The database that the file comes from has been replicated as another site.',
  },
  site_full: {
    status: 400,
    meaning: 'The hub has reached its storage limit for this site (CARTBARN_HUB_SITE_MAX_GB).',
  },
  site_exists: { status: 409, meaning: 'The site_id is taken.' },
  intent_over: { status: 409, meaning: 'The intent has a result already.' },
  intent_fetched: {
    status: 409,
    meaning: 'The intent was sent to the gateway: it cannot be withdrawn any more.',
  },
  internal_error: { status: 500, meaning: 'Fault of the hub; its log output has the request_id.' },
  store_unavailable: { status: 503, meaning: 'The database does not respond; try again later.' },
}

/** All values of `code` in error responses of the hub. */
export const HUB_ERROR_CODES: ErrorCodes = {
  ...Object.fromEntries(Object.entries(ERROR_CODES).filter(([code]) => SHARED_CODES.includes(code))),
  ...OWN_CODES,
}
