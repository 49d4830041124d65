/** What is wrong with a file that should be a course. */
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

/** A file cannot be read as a course; the message is for people, without the name of the file. */
export class CourseFault extends Error {
  readonly kind: CourseFaultKind

  constructor(kind: CourseFaultKind, message: string) {
    super(message)
    this.name = 'CourseFault'
    this.kind = kind
  }
}
