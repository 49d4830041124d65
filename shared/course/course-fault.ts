export type CourseFaultKind =
  | 'not_geojson'
  | 'not_degrees'
  | 'broken_geometry'
  | 'nothing_known'
  | 'too_many_points'
  | 'too_many_features'
  | 'not_one_line'
  | 'hole_too_long'
  | 'course_too_wide'

/** Error for a file that cannot be read as a course; the message is for users and does not contain the file name. */
export class CourseFault extends Error {
  readonly kind: CourseFaultKind

  constructor(kind: CourseFaultKind, message: string) {
    super(message)
    this.name = 'CourseFault'
    this.kind = kind
  }
}
