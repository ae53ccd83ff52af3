"""What every hasher that learns from pairs, but not one function after another by steps, promises."""

from .learners import LearnerContract


class PairContract(LearnerContract):
    """There is no course of single functions to keep, tell or report."""

    test_the_course_of_learning_is_kept = None
    test_the_callback_hears_of_every_function = None
    test_the_report_has_a_line_a_function = None
    test_balance_and_agreement_are_those_of_the_codes = None
    test_nothing_is_printed_unless_on_a_terminal = None


class KernelPairContract(PairContract):
    """Kernel features change with the distance from the centre, and hardly fit into memory if they are many."""

    test_codes_do_not_change_when_vectors_are_scaled_around_the_centre = None
