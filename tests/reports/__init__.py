"""Faults that users of other tools reported: each is told here in our words, and must not be ours.

One file per part, one class per report. `P` is the scripted proxy of `servers`, which changes only
what the report says; bytes are compared with what boto3 put.
"""
